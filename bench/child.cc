#include "bench/child.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace bench {

std::string self_path() { return std::filesystem::read_symlink("/proc/self/exe"); }

std::string scratch_dir() { return std::filesystem::path(self_path()).parent_path(); }

double status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::strtod(line.c_str() + key.size() + 1, nullptr) * 1024;
  }
  throw std::runtime_error("no " + key + " in /proc/self/status");
}

std::string output_of(std::vector<std::string> command) {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  int error = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char block[4096];
  for (ssize_t n; error == 0 && (n = read(ends[0], block, sizeof block)) > 0;) text.append(block, n);
  close(ends[0]);
  int state = 0;
  if (error != 0 || waitpid(child, &state, 0) != child || state != 0) {
    throw std::runtime_error(command[0] + " " + command[1] + " failed");
  }
  return text;
}

}  // namespace bench
