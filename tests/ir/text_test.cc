#include "ir/text/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/edit/builder.h"
#include "ir/frz.h"
#include "ir/graph/verify.h"
#include "ops/control/control.h"
#include "ops/core/registry.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "paths.h"

namespace frazil {
namespace {

using testing::HasSubstr;

std::vector<test::FrzCase> all_cases() {
  link_operators();
  std::vector<test::FrzCase> all;
  for (const char* folder : {"ir", "suite"}) {
    auto cases = test::read_frz_folder(test::source_dir() / "tests" / folder);
    EXPECT_TRUE(cases) << cases.error().text();
    if (cases) std::ranges::move(*cases, std::back_inserter(all));
  }
  return all;
}

class Frz : public testing::TestWithParam<test::FrzCase> {};

TEST_P(Frz, ReadsAndPrints) {
  const test::FrzCase& c = GetParam();
  SCOPED_TRACE(fmt::format("{}:{}: {}", c.file, c.line, c.name));
  const auto graph = parse(c.text);
  if (c.error) {
    ASSERT_FALSE(graph) << print(*graph);
    EXPECT_THAT(graph.error().text(), HasSubstr(*c.error));
    EXPECT_EQ(graph.error().text().find('\n'), std::string::npos);
    return;
  }
  ASSERT_TRUE(graph) << graph.error().text();
  const std::string text = print(*graph);
  if (c.exact) {
    EXPECT_EQ(text, c.bare());
  }
  for (const std::string& part : c.prints) EXPECT_THAT(text, HasSubstr(part));
  const Status verified = verify(*graph, 3);
  EXPECT_TRUE(verified) << verified.error().text() << "\n" << text;
}

TEST_P(Frz, NoPrefixCrashes) {
  const std::string& text = GetParam().text;
  for (std::size_t end = 0; end < text.size(); end += 1 + text.size() / 200) {
    const auto graph = parse(std::string_view(text).substr(0, end));
    EXPECT_TRUE(graph || !graph.error().text().empty());
  }
}

TEST_P(Frz, NoMissingPartCrashes) {
  const std::string& text = GetParam().text;
  for (std::size_t at = 0; at < text.size(); at += 1 + text.size() / 200) {
    for (const std::size_t length : {1, 5}) (void)parse(std::string(text).erase(at, length));
  }
}

std::string case_name(const testing::TestParamInfo<test::FrzCase>& info) {
  const std::string file = info.param.file.substr(0, info.param.file.find('.'));
  std::string name = fmt::format("{}_{}_{}", file, info.param.name, info.param.line);
  std::ranges::replace_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, Frz, testing::ValuesIn(all_cases()), case_name);

/// A graph with `depth` Ifs, each in the then branch of the one before.
std::string nested_ifs(std::size_t depth) {
  std::string text = "graph deep(%c: bool[], %x: f32[2]) {\n";
  for (std::size_t i = 0; i < depth; ++i) text += fmt::format("%r{} = If(%c) then_branch() {{\n", i);
  text += fmt::format("%r{} = Relu(%x)\n", depth);
  for (std::size_t i = depth; i-- > 0;) {
    text += fmt::format("yield %r{} }} else_branch() {{ yield %x }}\n", i + 1);
  }
  return text + "return y = %r0 }";
}

TEST(Text, DeeplyNestedRegions) {
  const auto graph = parse(nested_ifs(10'000));
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(graph->node_count(), 10'001u);
  const std::string text = print(*graph);
  const auto again = parse(text);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(print(*again), text);
  EXPECT_EQ(structural_hash(*again), structural_hash(*graph));
}

Tensor ramp(std::int64_t count) {
  Tensor t = Tensor::make(Elem::f32, {count}).value();
  for (std::int64_t i = 0; i < count; ++i) t.as_mutable<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i);
  return t;
}

TEST(Text, LargeConstantsHaveNames) {
  Graph graph;
  Builder b(graph);
  Expr x = b.input("x", Type::tensor(Elem::f32, {20}));
  const Tensor data = ramp(20);
  for (std::string_view name : {"fc.weight", "", "fc.weight", "odd name"}) x = ops::Add(x, b.constant(data, name));
  b.output("y", x);
  ASSERT_TRUE(b.status());
  const std::string text = print(graph);
  EXPECT_THAT(text, testing::StartsWith("weight @fc.weight: f32[20]\nweight @w1: f32[20]\nweight @w2: f32[20]\n"
                                        "weight @\"odd name\": f32[20]\n"));
  EXPECT_EQ(weights_of(graph).size(), 4u);
  const auto again = parse(text, [&](std::string_view) { return data; });
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(print(*again), text);
  const auto other = parse(text, [&](std::string_view) { return ramp(21); });
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().text(), HasSubstr("@fc.weight is declared f32[20], inferred f32[21]"));
}

TEST(Text, NamesTakenTwiceAreNumbered) {
  Graph graph;
  Builder b(graph);
  Expr x = b.input("x", Type::tensor(Elem::f32, {b.dim("N")}));
  for (int i = 0; i < 3; ++i) {
    x = ops::Relu(x);
    b.name_value(x.value, "x");
  }
  b.output("y", x);
  EXPECT_THAT(print(graph), HasSubstr("%3: f32[N] = Relu(%2)"));
  EXPECT_TRUE(verify(graph, 3));
}

TEST(Text, Bindings) {
  const auto bindings = parse_bindings("%x = f32[2] [1, 2], y = i64[] 3, s = seq(f32[] 1, f32[] 2), \"o 1\" = none");
  ASSERT_TRUE(bindings) << bindings.error().text();
  ASSERT_EQ(bindings->size(), 4u);
  EXPECT_EQ((*bindings)[0].first, "x");
  EXPECT_TRUE(identical((*bindings)[0].second.tensor(), Tensor::of<float>({2}, {1, 2})));
  EXPECT_EQ((*bindings)[2].second.sequence().items.size(), 2u);
  EXPECT_TRUE((*bindings)[3].second.empty());
}

TEST(Text, LiteralsOfStridedTensors) {
  const Tensor t = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor transposed(Elem::f32, {3, 2}, {1, 3}, t.buffer(), 0);
  EXPECT_EQ(literal(transposed), "f32[3,2] [[1, 4], [2, 5], [3, 6]]");
  EXPECT_TRUE(identical(*parse_literal(literal(transposed)), *transposed.packed()));
}

}  // namespace
}  // namespace frazil
