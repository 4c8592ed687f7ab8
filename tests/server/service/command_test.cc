// The command frazil serve: what it refuses before it serves, and how it ends.
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/os/control_group.h"
#include "server/core/file_descriptor.h"
#include "server/folder.h"
#include "server/http_test_client.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;

class Serve : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << "no command";
    folder_.add("double", kDouble);
  }
  Folder folder_;
};

TEST_F(Serve, RefusesWhatItCannotServe) {
  const struct {
    std::vector<std::string> arguments;
    const char* why;
  } cases[] = {
      {{"/no/such/folder"}, "/no/such/folder"},
      {{folder_.path(), "--host", "nowhere"}, "--host nowhere"},
      {{folder_.path(), "--http-port", "65536"}, "--http-port"},
      {{folder_.path(), "--http-port", "0", "--grpc-port", "0", "--metrics-port", "0", "--http-socket", "/"},
       "/: the file exists and is not a socket"},
      {{folder_.path(), "--workers", "0"}, "--workers"},
      {{folder_.path(), "--model-control-mode", "some"}, "--model-control-mode"},
      {{folder_.path(), "--load-model", "double"}, "--load-model needs --model-control-mode explicit"},
      {{folder_.path(), "--repository-poll-secs", "1"}, "--repository-poll-secs needs --model-control-mode poll"},
      {{folder_.path(), "--model-control-mode", "explicit", "--load-model", "none"}, "no model 'none'"},
      {{"--model-control-mode", "explicit", "--load-model", "none", folder_.path()}, "no model 'none'"},
      {{"--host-name", "a", "/no/such/folder"}, "/no/such/folder"},
      {{folder_.path(), "--log-level", "loud"}, "--log-level"},
      {{folder_.path(), "--access-log", "/no/such/folder/file"}, "--access-log /no/such/folder/file: No such"},
      {{folder_.path(), "--tier", "9"}, "expected auto, ref, 0, 1 or 2"}};
  for (const auto& c : cases) {
    std::vector<std::string> arguments{"serve"};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const Ended ended = run_tool(arguments);
    EXPECT_EQ(ended.exit, 2) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(c.why));
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  }
}

/// The command, with a file of the test's as stderr, while it serves at a Unix socket.
class Serving {
 public:
  /// `err`: -1: none.
  Serving(const Folder& folder, int err, const std::vector<std::string>& more = {}) {
    const std::string tool = tool_path(), models = folder.path(), socket = this->socket();
    child_ = fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      err < 0 ? ::close(STDERR_FILENO) : ::dup2(err, STDERR_FILENO);
      for (int file = STDERR_FILENO + 1; file < 100; ++file) ::close(file);
      std::vector<const char*> words{tool.c_str(),     "serve", models.c_str(),  "--http-port", "0", "--grpc-port", "0",
                                     "--metrics-port", "0",     "--http-socket", socket.c_str()};
      for (const std::string& word : more) words.push_back(word.c_str());
      words.push_back(nullptr);
      execv(tool.c_str(), const_cast<char* const*>(words.data()));
      _exit(99);
    }
    while (!listens() && is_alive()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ~Serving() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  bool is_alive() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
  }
  void signal(int number) const { ::kill(child_, number); }
  /// The status of an answer; 0: there is none.
  unsigned answer() const { return post("/v2/models/double/infer", kOne); }
  unsigned post(std::string_view path, std::string_view body) const {
    HttpClient client(socket());
    client.post(path, body);
    return client.receive().status;
  }
  unsigned status(std::string_view path) const {
    HttpClient client(socket());
    client.get(path);
    return client.receive().status;
  }
  /// The body of an answer to a GET.
  std::string get(const char* path) const {
    HttpClient client(socket());
    client.get(path);
    return client.receive().body;
  }
  /// The exit status on SIGTERM; -1: a signal has ended it.
  int end() const {
    signal(SIGTERM);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOWAIT);
    return info.si_code == CLD_EXITED ? info.si_status : -1;
  }

 private:
  std::string socket() const { return folder_ / "http"; }
  /// The file of a socket is there before the socket listens.
  bool listens() const {
    try {
      HttpClient client(socket());
      return true;
    } catch (const boost::system::system_error&) {
      return false;
    }
  }

  TempFolder folder_;
  pid_t child_ = -1;
};

TEST_F(Serve, LogsThatNobodyTakesDoNotMatter) {
  int stalled[2], gone[2];
  ASSERT_EQ(::pipe(stalled), 0);
  ASSERT_EQ(::pipe(gone), 0);
  ::close(gone[0]);
  ASSERT_GT(::fcntl(stalled[1], F_SETPIPE_SZ, 4096), 0);
  const std::string filler(4096, 'x');
  ASSERT_EQ(::write(stalled[1], filler.data(), filler.size()), 4096) << "not even one line more";
  const int full = ::open("/dev/full", O_WRONLY);
  const struct {
    const char* of;
    int err;
  } cases[] = {{"not read", stalled[1]}, {"its reader is gone", gone[1]}, {"no space", full}, {"closed", -1}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.of);
    const Serving server(folder_, c.err);
    for (int i = 0; i < 20; ++i) {
      server.signal(SIGHUP);  // each has a line: there is no configuration
      EXPECT_EQ(server.answer(), 200U);
    }
    EXPECT_EQ(server.end(), 0);
  }
}

TEST_F(Serve, SaysThatThereIsNoCodeGenerator) {
  const TempFolder logs;
  const std::string log = logs / "err";
  const int err = ::open(log.c_str(), O_CREAT | O_RDWR | O_APPEND, 0600);
  ::setenv("FRAZIL_CODE_GENERATOR", "/no/such/file", 1);
  const Serving server(folder_, err, {"--tier", "auto"});
  ::unsetenv("FRAZIL_CODE_GENERATOR");
  EXPECT_EQ(server.answer(), 200U);
  EXPECT_THAT(server.get("/v2"), HasSubstr(R"("code_generator":"none")"));
  EXPECT_EQ(server.end(), 0);
  ::close(err);
  const std::string text = content_of(log);
  EXPECT_THAT(text, testing::ContainsRegex(
                        "Z warning server: fused kernels run without machine code: FRAZIL_CODE_GENERATOR: there is no "
                        "file /no/such/file\n"));
  EXPECT_EQ(text.find("/no/such/file"), text.rfind("/no/such/file")) << "once: " << text;
}

TEST_F(Serve, LogsItsRequestsAndOpensTheFileAgain) {
  const TempFolder logs;
  const std::string file = logs / "access", log = logs / "err";
  const int err = ::open(log.c_str(), O_CREAT | O_RDWR | O_APPEND, 0600);
  {
    const Serving server(folder_, err, {"--access-log", file, "--access-log-format", "json", "--log-level", "verbose"});
    EXPECT_EQ(server.answer(), 200U);
    while (content_of(file).find('\n') == std::string::npos) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::filesystem::rename(file, file + ".1");
    server.signal(SIGHUP);
    while (!std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_THAT(server.get("/v2/models/double"), HasSubstr("double"));
    EXPECT_EQ(server.end(), 0);
  }
  ::close(err);
  EXPECT_THAT(content_of(file + ".1"),
              HasSubstr(R"("peer":"unix","protocol":"http","method":"POST","path":"/v2/models/double/infer")"));
  EXPECT_THAT(content_of(file),
              HasSubstr(R"("method":"GET","path":"/v2/models/double","model":"double","status":200)"));
  EXPECT_THAT(content_of(log),
              testing::ContainsRegex("Z verbose request: unix - http POST /v2/models/double/infer double 200"));
}

TEST_F(Serve, StartsWithoutAModelAndTakesOneLater) {
  const TempFolder logs;
  Folder empty;
  const int log = ::open((logs / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const Serving server(empty, log, {"--model-control"});
  EXPECT_EQ(server.status("/v2/health/ready"), 200U);
  EXPECT_EQ(server.answer(), 404U);
  empty.add("double", kDouble);
  EXPECT_EQ(server.post("/v2/repository/models/double/load", "{}"), 200U);
  EXPECT_EQ(server.answer(), 200U);
  EXPECT_EQ(server.end(), 0);
  EXPECT_THAT(content_of(logs / "err"), HasSubstr(" warning server: " + empty.path() + ": there is no model: add "));
  ::close(log);
}

/// The datagram socket of a service manager, which NOTIFY_SOCKET names while the object exists.
class ServiceManager {
 public:
  explicit ServiceManager(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    if (name[0] == '@') address.sun_path[0] = 0;
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0) << name;
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~ServiceManager() { ::unsetenv("NOTIFY_SOCKET"); }
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;
  std::string receive() const {
    char text[100];
    const ssize_t size = ::recv(socket_.get(), text, sizeof text, 0);
    return {text, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  server::FileDescriptor socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

TEST_F(Serve, ReportsItsStateToTheServiceManager) {
  const TempFolder folder;
  const int log = ::open((folder / "err").c_str(), O_WRONLY | O_CREAT, 0600);
  for (const std::string& name :
       std::vector<std::string>{folder / "notify", "@frazil_test_" + std::to_string(getpid())}) {
    SCOPED_TRACE(name);
    const ServiceManager manager(name);
    const Serving server(folder_, log);
    EXPECT_EQ(manager.receive(), "READY=1");
    EXPECT_EQ(server.status("/v2/health/ready"), 200U);
    EXPECT_EQ(server.end(), 0);
    EXPECT_EQ(manager.receive(), "STOPPING=1");
  }
  EXPECT_THAT(content_of(folder / "err"), testing::Not(HasSubstr("NOTIFY_SOCKET")));
  ::close(log);
}

TEST_F(Serve, ServesAlthoughItsServiceManagerIsGone) {
  const TempFolder folder;
  const int log = ::open((folder / "err").c_str(), O_WRONLY | O_CREAT, 0600);
  ::setenv("NOTIFY_SOCKET", (folder / "none").c_str(), 1);
  const Serving server(folder_, log);
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_EQ(server.answer(), 200U);
  EXPECT_EQ(server.end(), 0);
  EXPECT_THAT(content_of(folder / "err"), HasSubstr("/none: cannot send READY=1: No such file or directory"));
  ::close(log);
}

/// A control group below this process' own that goes with the object.
class ControlGroup {
 public:
  ControlGroup(const std::string& root, const std::string& parent)
      : folder_(root + parent + "/frazil_test_" + std::to_string(getpid())) {
    std::error_code ignored;
    std::filesystem::create_directory(folder_, ignored);
  }
  ~ControlGroup() { ::rmdir(folder_.c_str()); }
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;
  /// Whether the file took the text.
  bool set(const std::string& file, const std::string& text) const {
    std::ofstream out(folder_ + "/" + file);
    return static_cast<bool>(out << text << std::flush);
  }
  /// Shell commands that bring the shell into it.
  std::string enter() const { return "echo $$ >" + folder_ + "/cgroup.procs && "; }

 private:
  const std::string folder_;
};

TEST_F(Serve, DefaultsAreTheLimitsOfItsControlGroup) {
  std::string memory_group, cpu_group, one_group;
  for_each_control_group([&](const std::string& controllers, const std::string& group) {
    (controllers == "memory" ? memory_group : controllers == "cpu" ? cpu_group : one_group) = group;
  });
  const std::string root = "/sys/fs/cgroup";
  const bool old = !memory_group.empty();
  const ControlGroup memory(old ? root + "/memory" : root, old ? memory_group : one_group),
      cpu(old ? root + "/cpu" : root, old ? cpu_group : one_group);
  const bool set = old ? memory.set("memory.limit_in_bytes", "1073741824") && cpu.set("cpu.cfs_quota_us", "50000")
                       : memory.set("memory.max", "1073741824") && cpu.set("cpu.max", "50000 100000");
  if (!set) GTEST_SKIP() << "no control groups can be made here";
  const TempFolder files;
  const std::string log = files / "log";
  const std::string command = memory.enter() + cpu.enter() + "timeout -s TERM 2 " + tool_path().string() + " serve " +
                              folder_.path() + " --http-port 0 --grpc-port 0 --metrics-port 0 2>" + log;
  std::system(("sh -c '" + command + "'").c_str());
  EXPECT_THAT(
      content_of(log),
      testing::ContainsRegex("server: --workers 1 --memory-limit 53687091[0-9] --max-buffered-bytes 21474836[0-9]"))
      << "half and a fifth of the memory";
}

TEST_F(Serve, EndsOnASignal) {
  const TempFolder logs;
  const std::string err = logs / "err", tool = tool_path(), folder = folder_.path();
  const pid_t child = fork();
  if (child == 0) {
    if (!freopen(err.c_str(), "w", stderr)) _exit(99);
    execl(tool.c_str(), tool.c_str(), "serve", folder.c_str(), "--http-port", "0", "--grpc-port", "0", "--metrics-port",
          "0", nullptr);
    _exit(99);
  }
  while (content_of(err).find('\n') == std::string::npos) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_THAT(
      content_of(err),
      testing::ContainsRegex("^listening http=127.0.0.1:[0-9]+ grpc=127.0.0.1:[0-9]+ metrics=127.0.0.1:[0-9]+\n"));
  ::kill(child, SIGTERM);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_THAT(content_of(err), testing::ContainsRegex("Z info server: has ended\n$")) << "the log has its last line";
}

}  // namespace
}  // namespace frazil::test
