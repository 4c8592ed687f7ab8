// The commands frazil witness and frazil serve together, as processes.
#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "server/folder.h"
#include "server/http_test_client.h"
#include "server/running.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;

/// A command that runs until it is ended; its stderr is in a file.
class RunningCommand {
 public:
  explicit RunningCommand(const std::vector<std::string>& arguments) {
    const std::string tool = tool_path(), err = folder_ / "err";
    child_ = fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (!freopen("/dev/null", "w", stdout) || !freopen(err.c_str(), "w", stderr)) _exit(98);
      std::vector<char*> words{const_cast<char*>(tool.c_str())};
      for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
      words.push_back(nullptr);
      execv(tool.c_str(), words.data());
      _exit(99);
    }
    while (http_port() == 0 && is_alive()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ~RunningCommand() {
    if (child_ < 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  std::string err() const { return content_of(folder_ / "err"); }
  /// The port that it listens at; 0: none yet.
  std::uint16_t http_port() const {
    const std::string text = err();
    const std::size_t at = text.find("listening http=");
    const std::size_t end = text.find_first_of(" \n", at + 15);
    if (at == std::string::npos || end == std::string::npos) return 0;
    return static_cast<std::uint16_t>(std::stoi(text.substr(text.rfind(':', end) + 1)));
  }
  /// Ends it with SIGTERM and returns the exit code; -1: a signal has ended it.
  int end() {
    ::kill(child_, SIGTERM);
    return wait();
  }
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(child_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void signal(int number) const { ::kill(child_, number); }

 private:
  bool is_alive() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
  }
  TempFolder folder_;
  pid_t child_ = -1;
};

constexpr const char* kLogName = "example.org/witnessed";

class Witnessed : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
    models_.add("double", kDouble);
    for (const char* name : {"audit", "witness", "alice", "bob"}) {
      ASSERT_EQ(run_tool({"keygen", "-o", at(name), "--kind", "ed25519"}).exit, 0);
    }
  }
  std::string at(const std::string& name) const { return files_.path() + name; }

  std::vector<std::string> serve_arguments(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"serve",          models_.path(),
                                       "--http-port",    "0",
                                       "--grpc-port",    "0",
                                       "--metrics-port", "0",
                                       "--audit",        at("log"),
                                       "--audit-key",    at("audit.pem"),
                                       "--audit-origin", kLogName};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::vector<std::string> with_witness() const { return serve_arguments({"--witness-policy", at("witnesses")}); }
  /// Starts a witness, and writes the policy that asks it.
  std::unique_ptr<RunningCommand> start_witness() const {
    auto witness = std::make_unique<RunningCommand>(
        std::vector<std::string>{"witness", "--state", at("state"), "--key", at("witness.pem"), "--name",
                                 "example.org/w1", "--log", kLogName + ("=" + at("audit.pub.pem")), "--port", "0"});
    const std::string text = witness->err(), key = text.substr(8, text.find('\n') - 8);
    files_.write("witnesses",
                 "witness w1 " + key + " http://127.0.0.1:" + std::to_string(witness->http_port()) + "\nquorum w1\n");
    return witness;
  }
  static unsigned ask(const RunningCommand& server) {
    HttpClient client(server.http_port());
    client.post("/v2/models/double/infer", kOne);
    return client.receive().status;
  }
  /// Waits until the command has written a text to stderr.
  static void wait_for(const RunningCommand& server, const char* text) {
    RunningServer::wait_until([&] { return server.err().find(text) != std::string::npos; });
  }
  std::string shown(const char* kind) const { return run_tool({"audit", "show", at("log"), "--kind", kind}).out; }

  Folder models_, files_;
};

TEST_F(Witnessed, ARestoredOldDiskIsRefusedAtStart) {
  const auto witness = start_witness();
  const auto run_once = [&] {
    RunningCommand server(with_witness());
    EXPECT_EQ(ask(server), 200u) << server.err();
    EXPECT_EQ(server.end(), 0) << server.err();
  };
  run_once();
  std::filesystem::copy(at("log"), at("old"), std::filesystem::copy_options::recursive);
  run_once();
  EXPECT_EQ(shown("witness"), "") << "it was reachable all the time";
  EXPECT_THAT(shown("boot"), HasSubstr("example.org/w1"));
  std::filesystem::remove_all(at("log"));
  std::filesystem::copy(at("old"), at("log"), std::filesystem::copy_options::recursive);
  RunningCommand restored(with_witness());
  EXPECT_EQ(restored.wait(), 2);
  EXPECT_THAT(restored.err(), testing::AllOf(HasSubstr("witness 'w1' has cosigned another tree of size"),
                                             HasSubstr("the folder is an older copy of the log")));
}

TEST_F(Witnessed, AWitnessThatIsAwayIsRecordedOrRefuses) {
  start_witness()->end();
  {
    RunningCommand server(with_witness());
    EXPECT_EQ(ask(server), 200u);
    server.end();
  }
  EXPECT_THAT(shown("witness"), HasSubstr("unreachable"));
  auto refusing = with_witness();
  for (const char* word : {"--witness-mode", "refuse", "--witness-patience", "0.1"}) refusing.emplace_back(word);
  RunningCommand server(refusing);
  if (server.http_port() == 0) return;  // the patience ended while it started
  RunningServer::wait_until([&] { return ask(server) != 200u; });
  EXPECT_EQ(ask(server), 503u);
}

TEST_F(Witnessed, TwoOfficersSignThePolicyThatIsServed) {
  const auto person = [&](const char* name) {
    std::string key = content_of(at(name + std::string(".pub.pem"))), escaped;
    for (const char c : key) escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
    return "{\"name\": \"" + std::string(name) + "\", \"roles\": [\"policy\"], \"key\": \"" + escaped + "\"}";
  };
  files_.write("trust.json", "{\"persons\": [" + person("alice") + ", " + person("bob") + "]}");
  const auto edition = [&](const char* serial, const char* rules, const std::vector<const char*>& officers) {
    files_.write("rules", "policy \"p\" serial " + std::string(serial) + ";\n" + rules);
    std::filesystem::remove(at("rules.dsse"));
    for (const char* officer : officers) {
      EXPECT_EQ(run_tool({"sign", at("rules"), "--as", "policy", "--key", at(officer) + ".pem"}).exit, 0);
    }
    return content_of(at("rules.dsse"));
  };
  constexpr const char* kAll = "permit all on file, load, run, config, admin reason \"x\";\n";
  const std::vector<std::string> arguments =
      serve_arguments({"--policy", at("rules.dsse"), "--policy-signers", "2", "--trust", at("trust.json")});
  const std::string first = edition("1", kAll, {"alice", "bob"});
  {
    RunningCommand server(arguments);
    EXPECT_EQ(ask(server), 200u) << server.err();
    edition("2", "permit all on file, load, config, admin reason \"x\";\n", {"alice"});
    server.signal(SIGHUP);
    wait_for(server, "signatures of 1 of the 2");
    EXPECT_EQ(ask(server), 200u) << "one signature is not enough";
    edition("2", "permit all on file, load, config, admin reason \"x\";\n", {"alice", "bob"});
    server.signal(SIGHUP);
    wait_for(server, "serial 2, is in force");
    EXPECT_EQ(ask(server), 403u);
    EXPECT_EQ(server.end(), 0);
  }
  files_.write("rules.dsse", first);
  RunningCommand old(arguments);
  EXPECT_EQ(old.wait(), 2);
  EXPECT_THAT(old.err(), HasSubstr("its serial 1 is lower than 2, which was accepted before"));
  EXPECT_THAT(shown("policy"), HasSubstr(R"("signers":["alice","bob"])"));
}

}  // namespace
}  // namespace frazil::test
