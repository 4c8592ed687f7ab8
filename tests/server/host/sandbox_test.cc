// Sandboxes of steps in Python: attempts to leave them at each level, limits, and what a system must offer.
#include "server/host/sandbox.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <frazil/error.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error/tool.h"
#include "paths.h"
#include "server/core/file_descriptor.h"
#include "server/host/host_node.h"
#include "server/host/python_process.h"

namespace frazil::test {
namespace {

using std::literals::operator""s;
using server::Clock;
using server::FileDescriptor;
using server::PythonCommand;
using server::PythonProcess;
using server::SandboxLevel;
using server::SandboxPath;
using server::SandboxReach;
using server::SandboxSpec;
using server::SandboxSupport;
using testing::HasSubstr;

// ---- levels ----

constexpr SandboxLevel kNone = SandboxLevel::none, kLimits = SandboxLevel::limits,
                       kNoNetwork = SandboxLevel::no_network, kIsolated = SandboxLevel::isolated;

SandboxSupport everything() { return {.filters = true, .landlock = 4, .bubblewrap = "/usr/bin/bwrap"}; }

TEST(SandboxLevels, FollowFromTheSystemAndTheDeclaration) {
  SandboxSupport no_bubblewrap = everything(), no_landlock = everything(), no_filters = everything();
  no_bubblewrap.bubblewrap = "";
  no_bubblewrap.without_bubblewrap = "the program bwrap was not found";
  no_landlock.landlock = 0;
  no_filters.filters = false;
  const struct {
    SandboxSupport support;
    SandboxLevel most;
    bool network;
    SandboxLevel level;
    std::string lacks;
  } cases[] = {{everything(), kIsolated, false, kIsolated, ""},
               {everything(), kNoNetwork, false, kNoNetwork, "'most' limits it"},
               {everything(), kNone, false, kNone, "it is turned off"},
               {everything(), kIsolated, true, kLimits, "the step declares 'network: true'"},
               {no_bubblewrap, kIsolated, false, kNoNetwork, "the program bwrap was not found"},
               {no_landlock, kIsolated, false, kLimits, "the kernel has no Landlock"},
               {no_landlock, kIsolated, true, kLimits,
                "the step declares 'network: true', and the kernel has no Landlock, so files are open"},
               {no_filters, kIsolated, false, kNone, "the kernel has no seccomp"}};
  for (const auto& [support, most, network, level, lacks] : cases) {
    const SandboxReach reach = reach_of({.most = most, .network = network}, support);
    EXPECT_EQ(reach.level, level) << lacks;
    EXPECT_EQ(reach.lacks, lacks);
  }
}

TEST(SandboxLevels, BelowTheLeastOneAreErrors) {
  SandboxSupport no_landlock = everything();
  no_landlock.landlock = 0;
  EXPECT_EQ(require_reach({.least = kLimits}, no_landlock).level, kLimits);
  try {
    require_reach({.least = kNoNetwork}, no_landlock);
    FAIL() << "no error";
  } catch (const api::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("expected a sandbox of level 'no-network', only 'limits' can be reached: the "
                                        "kernel has no Landlock"));
  }
}

TEST(SandboxLevels, HaveNames) {
  for (const SandboxLevel level : {kNone, kLimits, kNoNetwork, kIsolated}) {
    EXPECT_EQ(server::sandbox_level_of(name_of(level)), level);
  }
  EXPECT_FALSE(server::sandbox_level_of("strict"));
}

// ---- escapes ----

std::string python_with_numpy() {
  for (const char* interpreter : {"python3", "/usr/bin/python3"}) {
    if (std::system((interpreter + " -c 'import numpy' 2>/dev/null"s).c_str()) == 0) return interpreter;
  }
  return "";
}

constexpr char kSecret[] = "a secret of the server in its memory and in its files";

/// A process that has what a server has, and waits.
class Victim {
 public:
  Victim() : process_(::fork()) {
    if (process_ != 0) return;
    for (;;) ::pause();
  }
  ~Victim() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  pid_t id() const { return process_; }
  bool lives() const { return ::waitpid(process_, nullptr, WNOHANG) == 0; }

 private:
  pid_t process_;
};

FileDescriptor listening(int family, int type, const void* address, socklen_t size) {
  FileDescriptor socket(::socket(family, type | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(socket.get(), static_cast<const sockaddr*>(address), size), 0);
  EXPECT_TRUE(type != SOCK_STREAM || ::listen(socket.get(), 100) == 0);
  return socket;
}
FileDescriptor on_loopback(int type) {
  const sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  return listening(AF_INET, type, &address, sizeof address);
}
int port_of(const FileDescriptor& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}
/// `name` starts with '\0' for an abstract one.
FileDescriptor on_unix(const std::string& name) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::memcpy(address.sun_path, name.data(), name.size());
  return listening(AF_UNIX, SOCK_STREAM, &address,
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size()));
}

/// Calls a function of one argument k: i64[] and one result: string[] in a process.
std::string called(PythonProcess& process, std::int64_t k) {
  std::string message;
  const auto number = [&](auto value) { message.append(reinterpret_cast<const char*>(&value), sizeof value); };
  const auto text = [&](const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    message += value;
  };
  number(std::uint32_t{1});
  text("k");
  text("<i8");
  number(std::uint32_t{0});
  number(std::uint64_t{sizeof k});
  message.resize((message.size() + 15) / 16 * 16, '\0');
  number(k);
  const std::string answer = process.exchange(message, Clock::now() + std::chrono::seconds(30), [] {});
  if (answer.at(0) == 0) return answer.substr(1);
  return answer.substr(20);  // good, rank, size, padding, size of the text
}

class SandboxEscapes : public testing::Test {
 protected:
  void SetUp() override {
    interpreter_ = python_with_numpy();
    if (interpreter_.empty()) GTEST_SKIP() << "there is no Python with NumPy";
    ::setenv("FRAZIL_TEST_SECRET", kSecret, 1);
    victim_.emplace();
  }
  std::string file(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }

  /// Writes the attempts and the files that they are after.
  void prepare() {
    unix_.reset();
    std::filesystem::remove(file("socket"));
    for (const char* name : {"model.onnx", "moved.onnx"}) write(name, kSecret);
    for (const char* name : {"helper.py", "removed.py", "emptied.py"}) write(name, "import os\n");
    const std::string abstract = "frazil-test-" + std::to_string(::getpid());
    unix_.emplace(on_unix(file("socket")));
    if (!abstract_) abstract_.emplace(on_unix(std::string(1, '\0') + abstract));
    std::ostringstream constants;
    constants << "(b'" << kSecret << "', " << victim_->id() << ", " << reinterpret_cast<std::uintptr_t>(kSecret) << ", "
              << port_of(tcp_) << ", " << port_of(udp_) << ", '" << file("socket") << "', '" << abstract << "', '"
              << file("") << "')";
    std::string code = content_of(source_dir() / "tests/server/host/escapes.py");
    const std::string mark = "= CONSTANTS";
    code.replace(code.find(mark), mark.size(), "= " + constants.str());
    write("escapes.py", code);
  }
  PythonCommand command(SandboxLevel level) {
    SandboxSpec spec{.least = level, .most = level, .network = level == kLimits, .tmp = true};
    if (level == kLimits) spec.most = kNoNetwork;
    spec.memory_bytes = std::uint64_t{2} << 30U;
    spec.file_bytes = 1U << 20U;
    PythonCommand command{.interpreter = interpreter_,
                          .file = file("escapes.py"),
                          .function = "act",
                          .outputs = {"y=O"},
                          .environment = {"OPENBLAS_NUM_THREADS=1"},
                          .sandbox = spec,
                          .level = reach_of(spec, server::sandbox_support()).level};
    command.sandbox.paths = python_paths(command);
    return command;
  }

  /// Runs a server that calls a step without an end, and kills the server.
  void kill_server_of(const PythonCommand& command) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const FileDescriptor from(ends[0]);
    FileDescriptor to(ends[1]);
    const pid_t server = ::fork();
    if (server == 0) {
      ::dup2(ends[1], STDERR_FILENO);
      PythonProcess process(command, [] {});
      called(process, 0);
      ::_exit(0);
    }
    to.close();
    std::array<char, 64> text{};
    EXPECT_GT(::read(from.get(), text.data(), text.size()), 0);
    EXPECT_THAT(text.data(), testing::StartsWith("started"));
    EXPECT_TRUE(runs_here());
    ::kill(server, SIGKILL);
    ::waitpid(server, nullptr, 0);
  }
  /// Returns true if a process has a file of the folder among its arguments.
  bool runs_here() const {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      if (content_of(entry.path() / "cmdline").find(file("")) != std::string::npos) return true;
    }
    return false;
  }

  struct Attempt {
    std::string stopped_by, name;
  };
  std::vector<Attempt> attempts(SandboxLevel level) {
    std::vector<Attempt> list;
    PythonProcess process(command(level), [] {});
    std::istringstream lines(called(process, -1));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t tab = line.find('\t');
      list.push_back({line.substr(0, tab), line.substr(tab + 1)});
    }
    return list;
  }
  /// Returns the reason why an attempt fails; empty: it succeeds.
  std::string tried(std::optional<PythonProcess>& process, SandboxLevel level, std::int64_t k) try {
    if (!process) process.emplace(command(level), [] {});
    return called(*process, k);
  } catch (const std::exception& error) {
    process.reset();
    const std::string why = error.what();
    return why.ends_with("ended with status 42") ? "" : why;
  }

  static bool is_stopped(const std::string& by, SandboxLevel level) {
    if (by == "none") return true;
    if (level == kNone) return false;
    if (by == "files") return level >= kNoNetwork || server::sandbox_support().landlock > 0;
    return by == "limits" || level >= kNoNetwork;
  }

  std::string interpreter_;
  TempFolder folder_;
  std::optional<Victim> victim_;
  FileDescriptor tcp_ = on_loopback(SOCK_STREAM), udp_ = on_loopback(SOCK_DGRAM);
  std::optional<FileDescriptor> unix_, abstract_;
};

TEST_F(SandboxEscapes, FailAtEachLevelThatStopsThem) {
  for (const SandboxLevel level : {kNone, kLimits, kNoNetwork, kIsolated}) {
    prepare();
    if (const PythonCommand one = command(level); one.level != level) {
      std::cout << "skipped level " << name_of(level) << ": " << reach_of(one.sandbox, server::sandbox_support()).lacks
                << '\n';
      continue;
    }
    std::optional<PythonProcess> process;
    const std::vector<Attempt> list = attempts(level);
    ASSERT_GE(list.size(), 30);
    for (std::size_t k = 0; k < list.size(); ++k) {
      const auto& [stopped_by, name] = list[k];
      const std::string why = tried(process, level, static_cast<std::int64_t>(k));
      if (is_stopped(stopped_by, level)) {
        EXPECT_NE(why, "") << "'" << name << "' succeeds at level " << name_of(level);
      } else if (level == kNone && !why.empty()) {
        std::cout << "'" << name << "' is not possible on this machine: " << why << '\n';
      }
    }
    EXPECT_TRUE(victim_->lives()) << name_of(level);
  }
}

TEST_F(SandboxEscapes, ProcessesEndWithTheServer) {
  for (const SandboxLevel level : {kNone, kLimits, kNoNetwork, kIsolated}) {
    prepare();
    PythonCommand one = command(level);
    if (one.level != level) continue;
    one.function = "linger";
    kill_server_of(one);
    const auto until = Clock::now() + std::chrono::seconds(20);
    while (runs_here() && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(runs_here()) << name_of(level);
  }
}

}  // namespace
}  // namespace frazil::test
