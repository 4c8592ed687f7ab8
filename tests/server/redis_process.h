#pragma once

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error/tool.h"
#include "server/net/redis.h"

namespace frazil::test {

/// A socket that listens at a free port of this machine.
inline int listen_at_any(unsigned short& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const address = reinterpret_cast<sockaddr*>(&here);
  socklen_t size = sizeof here;
  if (::bind(fd, address, size) != 0 || ::getsockname(fd, address, &size) != 0 || ::listen(fd, 16) != 0) abort();
  port = ntohs(here.sin_port);
  return fd;
}

inline std::string text_of(const server::RedisReply& reply) {
  using enum server::RedisReply::Kind;
  if (reply.kind == nil) return "nil";
  if (reply.kind == integer) return std::to_string(reply.integer);
  if (reply.kind == text) return '"' + reply.text + '"';
  if (reply.kind == error) return '!' + reply.text;
  std::string all = "[";
  for (const server::RedisReply& item : reply.items) (all += text_of(item)) += ' ';
  return all + ']';
}

/// A redis-server of the test's own, on a free port, which ends with the object. It keeps its data when it is killed.
class RedisProcess {
 public:
  RedisProcess() : RedisProcess({}, {}) {}
  /// With more options of its command. `access`: what it then needs to be entered with.
  RedisProcess(std::vector<std::string> more, server::RedisAccess access)
      : more_(std::move(more)), access_(std::move(access)) {
    ::close(listen_at_any(port_));
    start();
  }
  ~RedisProcess() { kill(); }
  static bool installed() { return std::system("command -v redis-server >/dev/null") == 0; }

  void start() {
    const std::string port = std::to_string(port_), folder = folder_ / "";
    child_ = fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (!freopen("/dev/null", "w", stdout)) _exit(99);
      std::vector<std::string> words{"redis-server", "--bind", "127.0.0.1",     "--dir", folder, "--save", "",
                                     "--appendonly", "yes",    "--appendfsync", "always"};
      if (access_.tls) words.insert(words.end(), {"--port", "0", "--tls-port", port});
      if (!access_.tls) words.insert(words.end(), {"--port", port});
      words.insert(words.end(), more_.begin(), more_.end());
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      execvp("redis-server", arguments.data());
      _exit(98);
    }
    for (int i = 0; i < 500; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      try {
        if (server::Redis(address(), {.access = access_}).run({"PING"}).text == "PONG") return;
      } catch (const server::RedisFault&) {  // NOLINT(bugprone-empty-catch): it is not there yet
      }
    }
    ADD_FAILURE() << "redis-server does not start";
  }
  void kill() {
    ::kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  void stop() const { ::kill(child_, SIGSTOP); }
  void go_on() const { ::kill(child_, SIGCONT); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  const std::vector<std::string> more_;
  const server::RedisAccess access_;
  TempFolder folder_;
  unsigned short port_ = 0;
  pid_t child_ = -1;
};

}  // namespace frazil::test
