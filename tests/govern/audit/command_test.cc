// `frazil audit` and `frazil witness`, as an operator and a third party use them.
#include <csignal>
#include <cstdlib>
#include <sstream>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "error/tool.h"
#include "govern/audit/subject_keys.h"
#include "tests/govern/audit/audit_testing.h"
#include "tests/paths.h"

namespace frazil::govern::audit_testing {
namespace {

using test::run_tool;
using ::testing::HasSubstr;

/// A log with a run, its key's file, and the command on it.
struct AuditCommandTest : ::testing::Test {
  void SetUp() override {
    if (!fs::exists(test::tool_path())) GTEST_SKIP() << test::kNoCommand;
    write_log(folder / "log", 300);
    write_text(folder / "key", log_key().public_key().pem());
  }
  TemporaryFolder folder;
};

TEST_F(AuditCommandTest, VerifiesWithExitCodes) {
  const std::string log = folder / "log", key = folder / "key";
  test::Ended ended = run_tool({"audit", "verify", log, "--key", key, "--json"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  const Json report = parse_json(ended.out, "the report");
  EXPECT_EQ(report["ok"], true);
  EXPECT_EQ(report["size"], 304);
  EXPECT_EQ(report["kinds"]["request"], 300);

  ended = run_tool({"audit", "verify", log});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("note: the keys are those of log.policy in the log's own folder"));
  ended = run_tool({"audit", "verify", folder / "none", "--key", key});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("there is no such folder"));

  std::string bundle = read_text(log + "/tile/entries/000");
  bundle[700] = static_cast<char>(bundle[700] ^ 1);
  write_text(log + "/tile/entries/000", bundle);
  ended = run_tool({"audit", "verify", log, "--key", key});
  EXPECT_EQ(ended.exit, 1) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("the entry is not the one in the tree"));
}

TEST_F(AuditCommandTest, HoldsAndErasesASubject) {
  const std::string log = folder / "log", keys = folder / "keys", secret = folder / "secret";
  write_text(secret, log_key().pem());
  const auto run = [&](std::vector<std::string> arguments, bool with_keys) {
    arguments.insert(arguments.begin(), "audit");
    arguments.insert(arguments.end(), {"--key", secret});
    if (with_keys) arguments.insert(arguments.end(), {"--keys", keys});
    return run_tool(arguments);
  };
  EXPECT_THAT(run({"erase", log, "alice"}, true).err, HasSubstr("expected the keys of subjects"));
  const std::string id = SubjectKeys(keys).id_of("alice");
  test::Ended ended = run({"hold", log, "case 7", "--subject", "alice"}, true);
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_EQ(ended.out, "event 305 holds entries for case 'case 7'\n");
  ended = run({"erase", log, "alice"}, true);
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("the subject is held by event 305"));
  EXPECT_EQ(run({"release", log, "case 7"}, false).out, "event 310 releases case 'case 7'\n");
  ended = run({"erase", log, "alice"}, true);
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_EQ(ended.out, "event 313: subject '" + id + "' is erased, 0 blobs are removed\n");
  EXPECT_EQ(run({"erase", log, "alice"}, true).exit, 2);
  EXPECT_THAT(run({"hold", log, "c", "--subject", "alice"}, false).err,
              HasSubstr("--subject and --keys need each other"));
  EXPECT_THAT(run({"release", folder / "none", "c"}, false).err, HasSubstr("expected an audit log"));
  ended = run_tool({"audit", "verify", log, "--key", folder / "key"});
  EXPECT_EQ(ended.exit, 0) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("was erased under event 313"));
  EXPECT_THAT(ended.out, ::testing::Not(HasSubstr("not closed in order")));
}

TEST_F(AuditCommandTest, ShowsAndProvesEntries) {
  const std::string log = folder / "log", key = folder / "key", proof = folder / "p.tlog-proof";
  test::Ended ended = run_tool({"audit", "show", log, "--kind", "publish"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("\"rule\":\"allow-signed\""));
  ended = run_tool({"audit", "show", log, "--tenant", "a", "--json"});
  EXPECT_EQ(std::ranges::count(ended.out, '\n'), 150);
  EXPECT_EQ(run_tool({"audit", "show", log, "--from", "yesterday"}).exit, 2);

  ended = run_tool({"audit", "prove", log, "7", "-o", proof});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  ended = run_tool({"audit", "check-proof", proof, "--key", key});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("entry 7 of log 'example.com/log'"));
  std::string text = read_text(proof);
  text.replace(text.find("index 7"), 7, "index 8");
  write_text(proof, text);
  EXPECT_EQ(run_tool({"audit", "check-proof", proof, "--key", key}).exit, 1);
  EXPECT_EQ(run_tool({"audit", "prove", log, "304"}).exit, 2);
}

/// The exit code of tests/govern/audit/check_proof.py, a verifier that shares no code with this one.
int second_check(const std::string& proof, const std::string& key) {
  const std::string script = test::source_dir() / "tests/govern/audit/check_proof.py";
  const int status = std::system(("python3 '" + script + "' '" + proof + "' --key '" + key + "' >/dev/null").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(AuditCommandTest, ProofsConvinceASecondVerifier) {
  const std::string log = folder / "log", key = folder / "key", proof = folder / "p.tlog-proof";
  for (const char* index : {"0", "255", "256", "303"}) {
    ASSERT_EQ(run_tool({"audit", "prove", log, index, "-o", proof}).exit, 0);
    EXPECT_EQ(second_check(proof, key), 0) << index;
    std::string text = read_text(proof);
    text.replace(text.find("index "), 7, index[0] == '3' ? "index 2" : "index 3");
    write_text(proof, text);
    EXPECT_EQ(second_check(proof, key), 1) << index;
  }
}

/// Posts a body over HTTP to a port on this machine, and returns the whole answer.
std::string post_to(std::uint16_t port, const std::string& path, const std::string& body) {
  const File socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return "no connection";
  const std::string request = "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + body;
  (void)!::write(socket.get(), request.data(), request.size());
  std::string answer;
  char part[4096];
  for (ssize_t count; (count = ::read(socket.get(), part, sizeof part)) > 0;) {
    answer.append(part, static_cast<std::size_t>(count));
  }
  return answer;
}

/// A running `frazil witness`.
class WitnessProcess {
 public:
  explicit WitnessProcess(const std::vector<std::string>& arguments) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    const std::string tool = test::tool_path();
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(ends[1], STDERR_FILENO);
      std::vector<char*> argv{const_cast<char*>(tool.c_str())};
      for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
      argv.push_back(nullptr);
      ::execv(tool.c_str(), argv.data());
      ::_exit(98);
    }
    ::close(ends[1]);
    const File out(ends[0]);
    for (char c; text_.find("listening") == text_.npos || text_.back() != '\n'; text_ += c) {
      if (::read(out.get(), &c, 1) != 1) return;
    }
    port_ = static_cast<std::uint16_t>(std::stoi(text_.substr(text_.rfind(':') + 1)));
  }
  ~WitnessProcess() {
    ::kill(child_, SIGTERM);
    ::waitpid(child_, nullptr, 0);
  }
  WitnessProcess(const WitnessProcess&) = delete;
  WitnessProcess& operator=(const WitnessProcess&) = delete;
  std::uint16_t port() const { return port_; }
  const std::string& text() const { return text_; }

 private:
  pid_t child_ = -1;
  std::uint16_t port_ = 0;
  std::string text_;
};

TEST_F(AuditCommandTest, AWitnessCosignsOverHttp) {
  write_text(folder / "witness.pem", fixed_key(2).pem());
  const WitnessProcess process({"witness", "--state", folder / "state", "--key", folder / "witness.pem", "--name",
                                "example.com/w1", "--log", kOrigin + "=" + (folder / "key"), "--port", "0"});
  ASSERT_NE(process.port(), 0) << process.text();
  const std::string note = read_text(folder / "log/checkpoint");
  EXPECT_THAT(post_to(process.port(), "/add-checkpoint", "old 0\n\n" + note), HasSubstr("\u2014 example.com/w1 "));
  const std::string conflict = post_to(process.port(), "/add-checkpoint", "old 7\n\n" + note);
  EXPECT_THAT(conflict, HasSubstr("HTTP/1.1 409"));
  EXPECT_THAT(conflict, HasSubstr("Content-Type: text/x.tlog.size"));
  EXPECT_THAT(conflict, HasSubstr("\r\n\r\n304\n"));
  EXPECT_THAT(post_to(process.port(), "/", ""), HasSubstr("HTTP/1.1 404"));
  EXPECT_THAT(post_to(process.port(), "/add-checkpoint", std::string(1 << 20, 'x')), HasSubstr("HTTP/1.1 413"));

  // A log whose client speaks HTTP to it.
  const std::size_t key = process.text().find("witness ") + 8;
  const std::string verifier = process.text().substr(key, process.text().find('\n') - key);
  const std::string policy = "log " + log_verifier().text() + "\nwitness w1 " + verifier + "\nquorum w1\n";
  write_text(folder / "policy", policy);
  AuditOptions options = options_of(folder / "log");
  options.witnesses = WitnessPolicy::parse(policy, "policy");
  options.witness_client = [&](const WitnessPolicy::Witness&, const std::string& body) {
    const std::string answer = post_to(process.port(), "/add-checkpoint", body);
    return WitnessAnswer{static_cast<unsigned>(std::stoi(answer.substr(9, 3))),
                         answer.substr(answer.find("\r\n\r\n") + 4)};
  };
  {
    AuditLog log(options);
    append_run(log, 20);
    log.close();
  }
  const test::Ended ended = run_tool({"audit", "verify", folder / "log", "--policy", folder / "policy", "--json"});
  EXPECT_EQ(ended.exit, 0) << ended.out;
  EXPECT_EQ(parse_json(ended.out, "the report")["witnessed_size"], 328);
}

}  // namespace
}  // namespace frazil::govern::audit_testing
