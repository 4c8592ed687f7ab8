#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "paths.h"

namespace frazil::test {

/// The path of the `frazil` command: FRAZIL_TOOL of the environment, or the build's. It may be absent.
inline std::filesystem::path tool_path() {
  const char* path = std::getenv("FRAZIL_TOOL");
  return path ? path : built_tool();
}

/// The path of the example's model.
inline std::string digits_model() { return source_dir() / "examples" / "digits" / "model.onnx"; }

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// A temporary folder for a test, removed at the end.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "frazil.XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  std::string write(std::string_view name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

struct Ended {
  int exit = -1;  ///< -1: ended by a signal
  std::string out, err;
};

/// Runs the command with stdin from /dev/null and `environment` ("NAME=VALUE") added.
inline Ended run_tool(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {}) {
  const TempFolder folder;
  const std::string out = folder / "out", err = folder / "err", tool = tool_path();
  const pid_t child = fork();
  if (child == 0) {
    if (!freopen("/dev/null", "r", stdin) || !freopen(out.c_str(), "w", stdout) || !freopen(err.c_str(), "w", stderr)) {
      _exit(99);
    }
    std::vector<char*> argv{const_cast<char*>(tool.c_str())};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    for (const std::string& e : environment) putenv(const_cast<char*>(e.c_str()));
    execv(tool.c_str(), argv.data());
    _exit(98);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(out), content_of(err)};
}

}  // namespace frazil::test
