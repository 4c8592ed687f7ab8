#include <sys/stat.h>

#include "govern/base/json.h"
#include "sign_testing.h"

namespace frazil::govern::sign_test::of_command {
namespace {

using test::Ended, test::run_tool;

/// A folder with a model, and keys.
class Commands : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(test::tool_path())) GTEST_SKIP() << test::kNoCommand;
    folder_.write("m/model.onnx", test::content_of(test::digits_model()));
    for (const char* name : {"a", "b"}) ASSERT_EQ(run_tool({"keygen", "-o", at(name)}).exit, 0);
  }
  std::string at(const std::string& name) const { return folder_.path(name); }

  TemporaryFolder folder_;
};

TEST_F(Commands, KeygenMakesASecretKeyAndReplacesNone) {
  struct stat info = {};
  ASSERT_EQ(::stat(at("a.pem").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  const std::string key = folder_.read("a.pem");
  const Ended again = run_tool({"keygen", "-o", at("a")});
  EXPECT_EQ(again.exit, 2);
  EXPECT_EQ(again.err, "frazil: file '" + at("a.pem") + "': it exists; a key is not replaced\n");
  EXPECT_EQ(folder_.read("a.pem"), key);
}

TEST_F(Commands, VerifyNamesTheFile) {
  ASSERT_EQ(run_tool({"sign", at("m"), "--key", at("a.pem")}).exit, 0);
  const std::vector<std::string> verify = {"verify", at("m"), "--key", at("a.pub.pem")};
  EXPECT_EQ(run_tool(verify).exit, 0);
  EXPECT_EQ(run_tool({"verify", at("m"), "--key", at("b.pub.pem"), "--key", at("a.pub.pem")}).exit, 0);
  EXPECT_EQ(run_tool({"verify", at("m"), "--key", at("b.pub.pem")}).exit, 1);
  folder_.write("m/extra.frzc", "");
  const Ended extra = run_tool(verify);
  EXPECT_EQ(extra.exit, 1);
  EXPECT_EQ(extra.out, "file 'extra.frzc': it is not signed [unsigned file]\n");
  folder_.write("m/model.sig", "{");
  EXPECT_EQ(run_tool(verify).exit, 1);
  std::filesystem::remove(at("m/model.sig"));
  EXPECT_EQ(run_tool(verify).exit, 2);
  EXPECT_EQ(run_tool({"verify", at("none"), "--key", at("a.pub.pem")}).exit, 2);
}

TEST_F(Commands, ADocumentCollectsSignatures) {
  const auto write = [&](const char* serial) {
    folder_.write("rules", "policy \"p\" serial " + std::string(serial) + ";");
  };
  write("2");
  const auto sign = [&](const char* key, const char* serial) {
    return run_tool({"sign", at("rules"), "--as", "policy", "--serial", serial, "--key", at(key)}).exit;
  };
  const auto verify = [&](const char* threshold) {
    return run_tool({"verify", at("rules.dsse"), "--as", "policy", "--threshold", threshold, "--serials", at("serials"),
                     "--key", at("a.pub.pem"), "--key", at("b.pub.pem")})
        .exit;
  };
  EXPECT_EQ(sign("a.pem", "2"), 0);
  EXPECT_EQ(verify("2"), 1);
  EXPECT_EQ(sign("a.pem", "2"), 0);
  EXPECT_EQ(verify("2"), 1);
  EXPECT_EQ(sign("b.pem", "1"), 2);
  EXPECT_EQ(run_tool({"sign", at("rules"), "--as", "policy", "--key", at("b.pem")}).exit, 0) << "its own serial";
  EXPECT_EQ(verify("2"), 0);
  write("1");
  std::filesystem::remove(at("rules.dsse"));
  EXPECT_EQ(sign("a.pem", "1"), 0);
  EXPECT_EQ(verify("1"), 1);
}

TEST_F(Commands, ApprovalsAreGivenAndChecked) {
  const auto person = [&](const char* name, const char* key) {
    return Json{{"name", name}, {"roles", {"risk"}}, {"key", folder_.read(std::string(key) + ".pub.pem")}};
  };
  folder_.write("persons.json", canonical({{"persons", {person("alice", "a"), person("bob", "b")}}}));
  const std::string model = at("m/model.onnx");
  for (const auto& [name, key] : {std::pair("alice", "a"), std::pair("bob", "b")}) {
    ASSERT_EQ(run_tool({"approve", model, "--environment", "e", "--approver", name, "--role", "risk", "--key",
                        at(std::string(key) + ".pem"), "-o", at(name)})
                  .exit,
              0);
  }
  const auto check = [&](const char* author, const char* environment) {
    return run_tool({"approve", model, "--environment", environment, "--check", at("alice"), "--check", at("bob"),
                     "--persons", at("persons.json"), "--author", author});
  };
  EXPECT_EQ(check("carol", "e").out, "approved by alice, bob\n");
  EXPECT_EQ(check("bob", "e").exit, 1);
  EXPECT_EQ(check("bob", "e").out, "approval 2: 'bob' is the author\n1 persons approved, expected at least 2\n");
  EXPECT_EQ(check("carol", "other").exit, 1);
}

TEST_F(Commands, BomIsDeterministicAndMarksWhatIsSigned) {
  ASSERT_EQ(run_tool({"sign", at("m"), "--key", at("a.pem")}).exit, 0);
  folder_.write("m/p.yaml", "steps:\n  - {name: s, model: model, inputs: {x: x}}\n");
  const Ended bill = run_tool({"bom", at("m"), "--json"});
  if (bill.exit == 2 && bill.err.find("FRAZIL_SERVE") != std::string::npos) GTEST_SKIP() << test::kNoCommand;
  EXPECT_EQ(bill.exit, 0) << bill.err;
  EXPECT_EQ(run_tool({"bom", at("m"), "--json"}).out, bill.out);
  EXPECT_EQ(bill.out.find("\"verified\""), std::string::npos);
  std::filesystem::remove(at("m/p.yaml"));
  EXPECT_NE(run_tool({"bom", at("m"), "--json", "--key", at("a.pub.pem")}).out.find("\"verified\""), std::string::npos);
  EXPECT_EQ(run_tool({"bom", at("m"), "--timestamp", "today"}).exit, 2);
}

}  // namespace
}  // namespace frazil::govern::sign_test::of_command
