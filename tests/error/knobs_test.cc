#include "base/knobs.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace frazil {
namespace {

Result<Knobs> parsed(const std::map<std::string, std::string, std::less<>>& variables) {
  return parse_knobs([&](std::string_view name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  });
}

TEST(Knobs, DefaultsAreThoseOfTheTable) {
  const Knobs none = parsed({}).value();
  std::map<std::string, std::string, std::less<>> table;
  for (const Knob& knob : knob_table()) {
    EXPECT_TRUE(knob.name.starts_with("FRAZIL_"));
    EXPECT_NE(knob.doc, "");
    table.emplace(knob.name, knob.initial);
  }
  const Knobs same = parsed(table).value();
  EXPECT_EQ(same.debug, none.debug);
  EXPECT_EQ(same.verify, none.verify);
  EXPECT_EQ(same.isa, none.isa);
  EXPECT_EQ(same.threads, none.threads);
  EXPECT_EQ(same.limits.memory_bytes, none.limits.memory_bytes);
  EXPECT_EQ(same.limits.tensor_elements, none.limits.tensor_elements);
  EXPECT_EQ(same.limits.steps, none.limits.steps);
  EXPECT_EQ(same.limits.time, none.limits.time);
  EXPECT_EQ(same.load.nodes, none.load.nodes);
  EXPECT_EQ(same.load.nesting, none.load.nesting);
  EXPECT_EQ(same.load.name_bytes, none.load.name_bytes);
}

TEST(Knobs, AreSetByTheirVariables) {
  const Knobs knobs = parsed({{"FRAZIL_VERIFY", "3"}, {"FRAZIL_ISA", "avx2"}, {"FRAZIL_MAX_STEPS", "10"}}).value();
  EXPECT_EQ(knobs.verify, 3);
  EXPECT_EQ(knobs.isa, "avx2");
  EXPECT_EQ(knobs.limits.steps, 10);
}

TEST(Knobs, MalformedOnesAreNamed) {
  const std::pair<const char*, const char*> bad[] = {
      {"FRAZIL_DEBUG", "7"},          {"FRAZIL_DEBUG", "high"},
      {"FRAZIL_VERIFY", "-1"},        {"FRAZIL_VERIFY", "1 "},
      {"FRAZIL_ISA", "sse"},          {"FRAZIL_THREADS", "1.5"},
      {"FRAZIL_MEMORY_LIMIT", "4GB"}, {"FRAZIL_MAX_STEPS", "99999999999999999999"}};
  for (const auto& [name, text] : bad) {
    const auto knobs = parsed({{name, text}});
    ASSERT_FALSE(knobs) << name;
    EXPECT_EQ(knobs.error().code, Code::bad_input);
    EXPECT_THAT(knobs.error().message, testing::StartsWith(name));
    EXPECT_THAT(knobs.error().message, testing::HasSubstr(text));
  }
}

}  // namespace
}  // namespace frazil
