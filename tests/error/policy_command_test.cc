#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "error/tool.h"
#include "paths.h"

// frazil policy: results, exit codes and errors.
namespace frazil::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kPolicy =
    "policy \"p\" serial 3;\n"
    "permit acme on run when tenant == \"acme\" reason \"a customer\";\n"
    "forbid large on run when parameters.size == \"large\" reason \"too large\";\n"
    "case \"a customer\" on run with {\"tenant\": \"acme\", \"parameters\": {\"size\": \"s\"}} expect permit by "
    "acme;\n";

class PolicyCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
    path_ = folder_.write("p.policy", kPolicy);
  }
  std::string with(const std::string& rules) { return folder_.write("other.policy", kPolicy + rules); }

  TempFolder folder_;
  std::string path_;
};

TEST_F(PolicyCommand, ChecksTypesAndFindsRulesWithoutEffect) {
  const Ended good = run_tool({"policy", "check", path_, "--json"});
  EXPECT_EQ(good.exit, 0) << good.err;
  const json result = json::parse(good.out);
  EXPECT_EQ(result["serial"], 3);
  EXPECT_EQ(result["rules"].size(), 2u);
  EXPECT_EQ(result["rules"][1]["reads_request"], true);

  const std::string dead = with("permit never on run when false reason \"\";\n");
  const Ended found = run_tool({"policy", "check", dead});
  EXPECT_EQ(found.exit, 1);
  EXPECT_THAT(found.out, HasSubstr(dead + ":5:8: rule 'never' never matches on 'run'"));

  const std::string wrong = with("permit w on run when tenant == 1 reason \"\";\n");
  const Ended refused = run_tool({"policy", "check", wrong});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr(wrong + ":5:29: rule 'w', hook 'run': '==' compares string and int"));
}

TEST_F(PolicyCommand, RunsCases) {
  EXPECT_EQ(run_tool({"policy", "test", path_}).out, "1 passed, 0 failed\n");
  const std::string other = with("case \"b\" on run with {\"tenant\": \"b\", \"parameters\": {}} expect deny;\n");
  const Ended failed = run_tool({"policy", "test", other});
  EXPECT_EQ(failed.exit, 1);
  EXPECT_EQ(failed.out, other +
                            ":5:6: case \"b\": expected deny, got could not decide: rule 'large', 3:37: there is no "
                            "key 'size'\n1 passed, 1 failed\n");
}

TEST_F(PolicyCommand, Explains) {
  const std::string input = R"({"tenant": "acme", "parameters": {"size": "large"}})";
  const Ended text = run_tool({"policy", "explain", path_, "--hook", "run", "--input", input});
  EXPECT_EQ(text.exit, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("deny: forbidden by 'large': too large\n"));
  const std::string file = folder_.write("input.json", input);
  const json same = json::parse(run_tool({"policy", "explain", path_, "--hook", "run", "--input", file, "--json"}).out);
  EXPECT_EQ(same["cause"], "forbidden");
  EXPECT_EQ(same["rules"][0]["outcome"], "match");
  EXPECT_THAT(run_tool({"policy", "explain", path_, "--hook", "runs", "--input", "{}"}).err,
              HasSubstr("--hook: there is no hook 'runs'"));
}

TEST_F(PolicyCommand, ComparesDecisions) {
  const std::string stricter = with("forbid all_of_it on run reason \"\";\n");
  const std::string asked = folder_.write(
      "asked.jsonl",
      "{\"hook\": \"run\", \"input\": {\"tenant\": \"acme\", \"parameters\": {\"size\": \"s\"}}, \"count\": 2}\n\n"
      "{\"hook\": \"run\", \"input\": {\"tenant\": \"b\", \"parameters\": {\"size\": \"s\"}}}\n");
  const Ended changed = run_tool({"policy", "diff", path_, stricter, "--decisions", asked});
  EXPECT_EQ(changed.exit, 1);
  EXPECT_EQ(changed.out,
            "question 0 on run, 2 times: permitted by 'acme' -> forbidden by 'all_of_it'\n2 of 3 decisions change\n");
  EXPECT_EQ(run_tool({"policy", "diff", path_, path_, "--decisions", asked}).exit, 0);
  const std::string bad = folder_.write("bad.jsonl", "{}\n");
  EXPECT_THAT(run_tool({"policy", "diff", path_, path_, "--decisions", bad}).err, HasSubstr(bad + ":1"));
}

TEST_F(PolicyCommand, NamesMistakes) {
  EXPECT_EQ(run_tool({"policy", "chek"}).err,
            "frazil: there is no command 'chek'; did you mean 'check'?; see frazil policy --help\n");
  EXPECT_EQ(run_tool({"policy"}).err, "frazil: no command given; see frazil policy --help\n");
  EXPECT_EQ(run_tool({"policy", "check", "--jsn", "x"}).err,
            "frazil: there is no option '--jsn'; did you mean '--json'?; see frazil policy check --help\n");
  EXPECT_THAT(run_tool({"policy", "diff", "a", "b"}).err, StartsWith("frazil: "));
  EXPECT_EQ(run_tool({"policy", "check", "none"}).exit, 2);
}

}  // namespace
}  // namespace frazil::test
