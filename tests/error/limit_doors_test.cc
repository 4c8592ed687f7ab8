// Every limit through each of its interfaces: the public API, the command's flag and the environment variable.
#include <algorithm>
#include <functional>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error/endless.h"
#include "error/tool.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;

struct Limit {
  std::string flag, variable;
  const char* value;
  const char* says;
  std::function<void(api::LoadOptions&)> load;
  std::function<void(api::Options&)> run;
  std::vector<const char*> tiers{"0", "ref"};
};

const Limit kLimits[] = {
    {"--max-nodes", "FRAZIL_MAX_NODES", "2", "more than 2 nodes", [](auto& o) { o.max_nodes = 2; }, {}},
    {"--max-nesting", "FRAZIL_MAX_NESTING", "1", "deeper than 1 level", [](auto& o) { o.max_nesting = 1; }, {}},
    {"--max-name-bytes", "FRAZIL_MAX_NAME_BYTES", "5", "at most 5", [](auto& o) { o.max_name_bytes = 5; }, {}},
    {"--memory-limit", "FRAZIL_MEMORY_LIMIT", "999", "999", {}, [](auto& o) { o.memory_limit = 999; }},
    {"--arena-limit", "FRAZIL_ARENA_LIMIT", "999", "is 999", {}, [](auto& o) { o.arena_limit = 999; }, {"0"}},
    {"--max-elements", "FRAZIL_MAX_ELEMENTS", "7", "limit of 7", {}, [](auto& o) { o.max_elements = 7; }},
    {"--max-steps", "FRAZIL_MAX_STEPS", "50", "more than 50 steps", {}, [](auto& o) { o.max_steps = 50; }},
    {"--deadline", "FRAZIL_DEADLINE_MS", "2", "deadline of 2 ms", {}, [](auto& o) { o.deadline_ms = 2; }},
};

TEST(LimitDoors, OfTheApi) {
  const std::string bytes = endless_model();
  for (const Limit& limit : kLimits) {
    for (const char* tier : limit.tiers) {
      SCOPED_TRACE(limit.flag + " on " + tier);
      api::LoadOptions load;
      api::Options run;
      run.tier = tier;
      if (limit.load) limit.load(load);
      if (limit.run) limit.run(run);
      try {
        const auto loaded = api::Model::from_bytes(std::as_bytes(std::span(bytes)), load);
        EXPECT_FALSE(limit.load) << "it was loaded";
        loaded.open(run).run({{"x", api::Array(api::Dtype::f32, {400})}});
        ADD_FAILURE() << "it ran to an end";
      } catch (const api::Error& error) {
        EXPECT_EQ(error.code(), api::Code::limit) << error.what();
        EXPECT_THAT(error.what(), HasSubstr(limit.says));
      }
    }
  }
}

TEST(LimitDoors, OfTheCommand) {
  if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
  const TempFolder folder;
  const std::string path = folder.write("endless.onnx", endless_model());
  for (const Limit& limit : kLimits) {
    for (const char* command : {"run", "bench"}) {
      for (const bool by_flag : {true, false}) {
        std::vector<std::string> arguments{command, path, "--input", "x=400"};
        if (by_flag) arguments.insert(arguments.end(), {limit.flag, limit.value});
        const Ended ended =
            run_tool(arguments, by_flag ? std::vector<std::string>{} : std::vector{limit.variable + "=" + limit.value});
        SCOPED_TRACE(std::string(command) + " with " + (by_flag ? limit.flag : limit.variable));
        EXPECT_EQ(ended.exit, 3) << ended.err;
        EXPECT_THAT(ended.err, HasSubstr(limit.says));
        EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
      }
    }
  }
}

TEST(LimitDoors, FlagsOutdoVariables) {
  if (!std::filesystem::exists(tool_path())) GTEST_SKIP() << kNoCommand;
  const TempFolder folder;
  const std::string path = folder.write("endless.onnx", endless_model());
  for (const Limit& limit : kLimits) {
    const std::string zero = limit.variable == "FRAZIL_DEADLINE_MS" ? "=9" : "=0";
    const Ended ended = run_tool({"run", path, "--input", "x=400", limit.flag, limit.value}, {limit.variable + zero});
    EXPECT_EQ(ended.exit, 3) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(limit.says));
  }
}

}  // namespace
}  // namespace frazil::test
