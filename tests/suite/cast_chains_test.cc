// Chains of casts whose values are all results: every kernel of a conversion, alone and in the company of others, on
// every instruction set and tier. The reference executor computes the expected bits.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/on_isa.h"
#include "suite/tiers.h"

namespace frazil::test {
namespace {

struct CastType {
  std::string_view name;
  int number;  ///< of the type in ONNX
};
constexpr CastType kTypes[] = {{"bool", 9}, {"i8", 3},   {"i16", 5},  {"i32", 6},   {"i64", 7}, {"u8", 2},  {"u16", 4},
                               {"u32", 12}, {"u64", 13}, {"f16", 10}, {"bf16", 16}, {"f32", 1}, {"f64", 11}};
/// Types that are computed in another type, with one byte for each element.
constexpr CastType kNarrow[] = {{"f8e4m3fn", 17}, {"f8e5m2", 19}, {"f4e2m1", 23}, {"i4", 22}, {"u4", 21}, {"i2", 26}};

constexpr int kElements = 71;  ///< one vector of 64 and a rest

/// Values of a type: small ones, both signs, fractions, and some near its limits or beyond those of narrower types.
std::string literal(std::string_view type, int i) {
  const int k = i * 37 % kElements - 30;
  if (type == "bool") return i * i % 3 == 1 ? "true" : "false";
  const bool is_signed = type[0] == 'i', is_float = type[0] == 'f' || type[0] == 'b';
  if (is_float) {
    if (i % 9 == 4) return fmt::format("{}", k * 900.75);
    return fmt::format("{}", i % 3 == 0 ? k * 7.5 : k * 0.75);
  }
  const int bits = std::stoi(std::string(type.substr(1)));
  const auto most = static_cast<std::int64_t>((std::uint64_t{1} << (bits - 1)) - 1);
  if (i % 3 == 0) return std::to_string(is_signed ? k : std::abs(k));
  if (i % 3 == 1) return std::to_string(most / 41 * (is_signed ? k : std::abs(k)));
  return std::to_string(is_signed && i % 2 == 0 ? -most + i : most - i);
}

std::string input_of(std::string_view type) {
  std::string text;
  for (int i = 0; i < kElements; ++i) text += (i == 0 ? "" : ", ") + literal(type, i);
  return fmt::format("%x = {}[{}] [{}]", type, kElements, text);
}

struct Chain {
  std::string text;  ///< of the body
  std::string results;
};

Graph graph_with_chain(std::string_view from, const Chain& chain) {
  return graph_of(fmt::format("graph g(%x: {}[N]) {{\n{}  return {}\n}}\n", from, chain.text, chain.results));
}

Chain chain_of(const CastType& second, const CastType& third) {
  return {fmt::format("  %u = Cast(%x) {{to = {}}}\n  %y = Cast(%u) {{to = {}}}\n", second.number, third.number),
          "u = %u, y = %y"};
}

/// Runs twice on tier 0: the second time what the first has left lies in memory.
void expect_bits(const Graph& graph, const std::vector<Datum>& inputs, const std::vector<Datum>& want) {
  const Tier0 tier(graph);
  ASSERT_TRUE(tier);
  for (int run = 0; run < 2; ++run) {
    const auto got = tier.session->run(inputs);
    ASSERT_TRUE(got) << got.error().text();
    expect_equal(graph, *got, want, kExact);
  }
}

void expect_on_all(const Graph& graph, const std::vector<Datum>& inputs, bool compiled) {
  SCOPED_TRACE(print(graph));
  const auto want = run_on_reference(graph, inputs);
  ASSERT_TRUE(want) << want.error().text();
  kernel::on_every_isa([&] { expect_bits(graph, inputs, *want); });
  if (compiled) run_compiled(graph, inputs, want);
}

class CastChains : public ::testing::TestWithParam<CastType> {};

TEST_P(CastChains, OfTwoAndThreeTypes) {
  const CastType from = GetParam();
  int chains = 0;
  for (const CastType& second : kTypes) {
    for (const CastType& third : kTypes) {
      if (second.name == from.name || third.name == second.name) continue;
      const Graph graph = graph_with_chain(from.name, chain_of(second, third));
      expect_on_all(graph, in_order(graph, input_of(from.name)), every_sweep());
      ++chains;
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(chains, 144);
}

/// All third types side by side in one kernel, which takes as many results as it can.
TEST_P(CastChains, WithManyResults) {
  const CastType from = GetParam();
  for (const CastType& second : kTypes) {
    if (second.name == from.name) continue;
    Chain chain{fmt::format("  %u = Cast(%x) {{to = {}}}\n", second.number), "u = %u"};
    for (const CastType& third : kTypes) {
      if (third.name == second.name) continue;
      chain.text += fmt::format("  %{0} = Cast(%u) {{to = {1}}}\n", third.name, third.number);
      chain.results += fmt::format(", {0} = %{0}", third.name);
    }
    const Graph graph = graph_with_chain(from.name, chain);
    expect_on_all(graph, in_order(graph, input_of(from.name)), true);
  }
}

TEST_P(CastChains, ThroughNarrowTypes) {
  const CastType from = GetParam();
  for (const CastType& narrow : kNarrow) {
    Chain chain{fmt::format("  %u = Cast(%x) {{to = {}}}\n", narrow.number), "u = %u"};
    for (const CastType& third : kTypes) {
      chain.text += fmt::format("  %{0} = Cast(%u) {{to = {1}}}\n", third.name, third.number);
      chain.results += fmt::format(", {0} = %{0}", third.name);
    }
    const Graph graph = graph_with_chain(from.name, chain);
    expect_on_all(graph, in_order(graph, input_of(from.name)), true);
  }
}

/// A run of operations on f32 whose last value, or one in its middle, is stored as another type.
TEST_P(CastChains, WithArithmeticBetween) {
  constexpr std::string_view kBodies[] = {
      "  %a = Cast(%x) {{to = f32}}\n  %b = Mul(%a, f32[] 0.5)\n  %c = Cast(%b) {{to = {0}}}\n",
      "  %a = Cast(%x) {{to = f32}}\n  %b = Max(%a, f32[] -3)\n  %d = Min(%b, f32[] 90)\n  %c = Cast(%d) {{to = "
      "{0}}}\n",
      "  %a = Cast(%x) {{to = {0}}}\n  %b = Cast(%a) {{to = f32}}\n  %c = Add(%b, f32[] 2.5)\n",
      "  %d = Cast(%x) {{to = f32}}\n  %a = Cast(%d) {{to = u8}}\n  %e = Cast(%a) {{to = f32}}\n  %b = Add(%e, f32[] "
      "1)\n"
      "  %c = Cast(%b) {{to = {0}}}\n",
  };
  constexpr std::string_view kResults[] = {"a = %a, b = %b, c = %c", "a = %a, c = %c", "b = %b, c = %c", "c = %c"};
  const CastType from = GetParam();
  for (const std::string_view body : kBodies) {
    for (const CastType& to : kTypes) {
      for (const std::string_view results : kResults) {
        const Graph graph =
            graph_with_chain(from.name, {fmt::format(fmt::runtime(body), to.number), std::string(results)});
        expect_on_all(graph, in_order(graph, input_of(from.name)), every_sweep());
      }
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(From, CastChains, ::testing::ValuesIn(kTypes),
                         [](const auto& type) { return std::string(type.param.name); });

}  // namespace
}  // namespace frazil::test
