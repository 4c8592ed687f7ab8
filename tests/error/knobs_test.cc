#include "base/os/knobs.h"

#include <chrono>
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
  EXPECT_EQ(same.features, none.features);
  EXPECT_EQ(same.threads, none.threads);
  EXPECT_EQ(same.passes, none.passes);
  EXPECT_EQ(same.limits.memory_bytes, none.limits.memory_bytes);
  EXPECT_EQ(same.limits.tensor_elements, none.limits.tensor_elements);
  EXPECT_EQ(same.limits.steps, none.limits.steps);
  EXPECT_EQ(same.limits.time, none.limits.time);
  EXPECT_EQ(same.load.memory_bytes, none.load.memory_bytes);
  EXPECT_EQ(same.load.tensor_elements, none.load.tensor_elements);
  EXPECT_EQ(same.load.nodes, none.load.nodes);
  EXPECT_EQ(same.load.nesting, none.load.nesting);
  EXPECT_EQ(same.load.name_bytes, none.load.name_bytes);
}

TEST(Knobs, AreSetByTheirVariables) {
  using Get = std::uint64_t (*)(const Knobs&);
  const std::pair<const char*, std::vector<Get>> variables[] = {
      {"FRAZIL_DEBUG", {[](const Knobs& k) { return std::uint64_t(k.debug); }}},
      {"FRAZIL_VERIFY", {[](const Knobs& k) { return std::uint64_t(k.verify); }}},
      {"FRAZIL_ISA",
       {[](const Knobs& k) { return std::uint64_t(k.features == CpuFeatures{.isa = Isa::avx2} ? 2 : 0); }}},
      {"FRAZIL_TIER", {[](const Knobs& k) { return std::uint64_t(k.tier == "1" ? 2 : 0); }}},
      {"FRAZIL_JIT", {[](const Knobs& k) { return std::uint64_t(k.jit ? 0 : 2); }}},
      {"FRAZIL_CODE_GENERATOR", {[](const Knobs& k) { return std::uint64_t(k.code_generator == "2" ? 2 : 0); }}},
      {"FRAZIL_CODE_CACHE", {[](const Knobs& k) { return std::uint64_t(k.code_cache == "2" ? 2 : 0); }}},
      {"FRAZIL_CODE_SYMBOLS", {[](const Knobs& k) { return std::uint64_t(k.code_symbols == "gdb" ? 2 : 0); }}},
      {"FRAZIL_TUNING", {[](const Knobs& k) { return std::uint64_t(k.tuning == "2" ? 2 : 0); }}},
      {"FRAZIL_THREADS", {[](const Knobs& k) { return std::uint64_t(k.threads); }}},
      {"FRAZIL_LAZY_BYTES", {[](const Knobs& k) { return std::uint64_t(k.lazy_bytes); }}},
      {"FRAZIL_MEMORY_LIMIT",
       {[](const Knobs& k) { return k.limits.memory_bytes; }, [](const Knobs& k) { return k.load.memory_bytes; }}},
      {"FRAZIL_ARENA_LIMIT", {[](const Knobs& k) { return k.limits.arena_bytes; }}},
      {"FRAZIL_MAX_ELEMENTS",
       {[](const Knobs& k) { return k.limits.tensor_elements; },
        [](const Knobs& k) { return k.load.tensor_elements; }}},
      {"FRAZIL_MAX_STEPS", {[](const Knobs& k) { return k.limits.steps; }}},
      {"FRAZIL_DEADLINE_MS", {[](const Knobs& k) {
         return k.limits.time ? std::uint64_t(*k.limits.time / std::chrono::milliseconds(1)) : 0;
       }}},
      {"FRAZIL_LOAD_DEADLINE_MS",
       {[](const Knobs& k) { return k.load_time ? std::uint64_t(*k.load_time / std::chrono::milliseconds(1)) : 0; }}},
      {"FRAZIL_FILL", {[](const Knobs& k) { return std::uint64_t(k.fill.value_or(0)); }}},
      {"FRAZIL_PASSES", {[](const Knobs& k) { return std::uint64_t(k.passes == PassSet::none() ? 2 : 0); }}},
      {"FRAZIL_ONNXRUNTIME", {[](const Knobs& k) { return std::uint64_t(k.onnxruntime ? 2 : 0); }}},
      {"FRAZIL_MAX_NODES", {[](const Knobs& k) { return k.load.nodes; }}},
      {"FRAZIL_MAX_NESTING", {[](const Knobs& k) { return k.load.nesting; }}},
      {"FRAZIL_MAX_NAME_BYTES", {[](const Knobs& k) { return k.load.name_bytes; }}},
  };
  EXPECT_EQ(std::size(variables), knob_table().size());
  for (const auto& [name, fields] : variables) {
    const std::string_view words = name;
    const char* value = words == "FRAZIL_ISA"            ? "avx2"
                        : words == "FRAZIL_PASSES"       ? "none"
                        : words == "FRAZIL_TIER"         ? "1"
                        : words == "FRAZIL_JIT"          ? "off"
                        : words == "FRAZIL_CODE_SYMBOLS" ? "gdb"
                        : words == "FRAZIL_ONNXRUNTIME"  ? "1"
                                                         : "2";
    const Knobs set = parsed({{name, value}}).value();
    const Knobs empty = parsed({{name, ""}}).value(), none = parsed({}).value();
    for (const Get field : fields) {
      EXPECT_EQ(field(set), 2u) << name;
      EXPECT_EQ(field(empty), field(none)) << name;
    }
  }
}

TEST(Knobs, MalformedOnesAreNamed) {
  for (const Knob& knob : knob_table()) {
    if (knob.name == "FRAZIL_TUNING" || knob.name == "FRAZIL_CODE_CACHE" || knob.name == "FRAZIL_CODE_GENERATOR") {
      continue;  // any text may name a file
    }
    std::vector<std::string> bad{"x",   "-1", "+1", "1.5", "1 ", " 1", "0x1", "1e3", "4GB", "99999999999999999999",
                                 "\xff"};
    const std::string range(knob.range);
    const std::size_t dots = range.find("..");
    const bool small = dots != range.npos && range.size() < 20;
    if (small) bad.push_back(std::to_string(std::stoull(range.substr(dots + 2)) + 1));
    for (const std::string& text : bad) {
      const auto knobs = parsed({{std::string(knob.name), text}});
      SCOPED_TRACE(std::string(knob.name) + "=" + text);
      ASSERT_FALSE(knobs);
      EXPECT_EQ(knobs.error().code, Code::bad_input);
      EXPECT_THAT(knobs.error().text(), testing::StartsWith(std::string(knob.name) + ": expected "));
      EXPECT_THAT(knobs.error().text(), testing::HasSubstr("got '" + text + "'"));
    }
  }
}

}  // namespace
}  // namespace frazil
