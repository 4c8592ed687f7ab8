#include <random>

#include "pass/passes.h"
#include "suite/tiers.h"

// Graphs before and after the pass that chooses channels last. Weights are @w and their extents: @w32x16x3x3.
namespace frazil::test {
namespace {

Tensor weight_named(std::string_view name) {
  std::string extents(name.substr(1, name.find('_') - 1));
  std::ranges::replace(extents, 'x', ' ');
  std::istringstream words(extents);
  Tensor w = Tensor::make(Elem::f32, Sizes{std::istream_iterator<std::int64_t>(words), {}}).value();
  std::mt19937 random(static_cast<std::uint32_t>(name.size()));
  std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
  for (float& x : w.as_mutable<float>()) x = uniform(random);
  return w;
}

/// Types of the weights that the text names.
std::string with_types(const std::string& text) {
  std::set<std::string> seen;
  std::string header;
  for (std::size_t at = text.find("@w"); at != text.npos; at = text.find("@w", at + 1)) {
    const std::string name = text.substr(at + 1, text.find_first_of(",) ", at) - at - 1);
    if (!seen.insert(name).second) continue;
    header += "weight @" + name + ": " + weight_named(name).type_str() + "\n";
  }
  return header + text;
}

Graph graph_with_weights(const std::string& text) {
  link_operators();
  const auto graph = parse(with_types(text), weight_named);
  EXPECT_TRUE(graph) << graph.error().message << "\n" << text;
  return graph ? *graph : Graph();
}

Graph through_layout(const Graph& graph, bool kernels = true) {
  const PassSet set{PassSet::only(Pass::layout).off & PassSet::only(Pass::dead).off};
  const auto keep = [&](const Graph& g, NodeId id) { return kernels || g.node(id).op->domain != "frazil"; };
  const auto made = run_passes(graph, {set, 3, keep});
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : Graph();
}

/// The text from its first node on.
std::string nodes_of(const Graph& graph) {
  const std::string text = print(graph);
  return text.substr(text.find("{\n") + 2);
}

std::vector<Datum> random_inputs(const Graph& graph, std::int64_t extent) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<Datum> inputs;
  for (Value v : graph.main().params) {
    Sizes sizes;
    for (Dim d : graph.type(v).shape) sizes.push_back(d.is_const() ? d.value() : extent);
    Tensor t = Tensor::make(graph.type(v).elem, sizes).value();
    if (t.elem() == Elem::f32) {
      for (float& x : t.as_mutable<float>()) x = uniform(random);
    } else {
      for (std::size_t i = 0; i < t.bytes(); ++i) t.mutable_data()[i] = std::byte(i == 0);
    }
    inputs.emplace_back(std::move(t));
  }
  return inputs;
}

void expect_same_results(const Graph& before, const Graph& after) {
  for (const std::int64_t extent : {1, 2, 5}) {
    const auto inputs = random_inputs(before, extent);
    const auto want = run_on_reference(before, inputs), got = run_on_reference(after, inputs);
    ASSERT_TRUE(want) << want.error().message;
    ASSERT_TRUE(got) << got.error().message;
    for (std::size_t i = 0; i < want->size(); ++i) {
      const auto what = difference(got->at(i), want->at(i), {.rtol = 1e-4, .atol = 1e-4});
      EXPECT_FALSE(what) << *what;
    }
  }
}

struct Example {
  std::string_view name, before, after;  ///< no text after: nothing changes
};

const Example kExamples[] = {
    {"a convolution alone, with enough products", R"(graph g(%x: f32[N,64,H,W]) {
  %y: f32[N,64,H,W] = Conv(%x, @w64x64x3x3) {pads = [1, 1, 1, 1]} "c"
  return y = %y
}
)",
     R"(  %1: f32[N,H,W,64] = Transpose(%x) {perm = [0, 2, 3, 1]} "c"
  %2: f32[N,H,W,64] = frazil::ConvChannelsLast(%1, @w64x64x3x3) {pads = [1, 1, 1, 1]} "c"
  %y: f32[N,64,H,W] = Transpose(%2) {perm = [0, 3, 1, 2]}
  return y = %y
}
)"},
    {"a convolution of few channels alone", R"(graph g(%x: f32[N,3,H,W]) {
  %y: f32[N,16,H,W] = Conv(%x, @w16x3x3x3) {pads = [1, 1, 1, 1]} "c"
  return y = %y
}
)",
     ""},
};

class Layouts : public testing::TestWithParam<Example> {};

TEST_P(Layouts, Become) {
  const Graph before = graph_with_weights(std::string(GetParam().before));
  const Graph after = through_layout(before);
  EXPECT_EQ(nodes_of(after), GetParam().after.empty() ? nodes_of(before) : GetParam().after);
  expect_same_results(before, after);
}

std::string example_name(const testing::TestParamInfo<Example>& info) {
  std::string name(info.param.name);
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Pass, Layouts, testing::ValuesIn(kExamples), example_name);

}  // namespace
}  // namespace frazil::test
