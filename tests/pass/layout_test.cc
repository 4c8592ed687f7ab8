#include <random>

#include "pass/engine/passes.h"
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
  EXPECT_TRUE(graph) << graph.error().text() << "\n" << text;
  return graph ? *graph : Graph();
}

Graph through_layout(const Graph& graph, bool kernels = true) {
  const PassSet set{PassSet::only(Pass::layout).off & PassSet::only(Pass::dead).off};
  const auto keep = [&](const Graph& g, NodeId id) { return kernels || g.node(id).op->domain != "frazil"; };
  const auto made = pass::run_passes(graph, {set, 3, keep});
  EXPECT_TRUE(made) << made.error().text();
  return made ? *made : Graph();
}

/// The text from its first node on.
std::string nodes_of(const Graph& graph) {
  const std::string text = print(graph);
  return text.substr(text.find("{\n") + 2);
}

std::vector<Datum> inputs_of_extent(const Graph& graph, std::int64_t extent) {
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
    const auto inputs = inputs_of_extent(before, extent);
    const auto want = run_on_reference(before, inputs), got = run_on_reference(after, inputs);
    ASSERT_TRUE(want) << want.error().text();
    ASSERT_TRUE(got) << got.error().text();
    for (std::size_t i = 0; i < want->size(); ++i) {
      const auto what = difference(got->at(i), want->at(i), {.rtol = 1e-4, .atol = 1e-4});
      EXPECT_FALSE(what) << *what;
    }
  }
}

struct LayoutExample {
  std::string_view name, before, after;  ///< no text after: nothing changes
};

const LayoutExample kLayoutExamples[] = {
    {"a convolution alone, with enough products", R"(graph g(%x: f32[N,64,H,W]) {
  %y: f32[N,64,H,W] = Conv(%x, @w64x64x3x3) {pads = [1, 1, 1, 1]} "c"
  return y = %y
}
)",
     R"(  %1: f32[N,H,W,64] = Transpose(%x) {perm = [0, 2, 3, 1]} "c"
  %2: f32[N,H,W,64] = frazil::ConvChannelsLast(%1, @w64x64x3x3) {pads = [1, 1, 1, 1]} "c"
  %y: f32[N,64,H,W] = Transpose(%2) {perm = [0, 3, 1, 2]} "c"
  return y = %y
}
)"},
    {"a convolution of few channels alone", R"(graph g(%x: f32[N,3,H,W]) {
  %y: f32[N,16,H,W] = Conv(%x, @w16x3x3x3) {pads = [1, 1, 1, 1]} "c"
  return y = %y
}
)",
     ""},
    {"products of single pixels alone", R"(graph g(%x: f32[N,512,H,W]) {
  %y: f32[N,512,H,W] = Conv(%x, @w512x512x1x1) "c"
  return y = %y
}
)",
     ""},
    {"no convolution", R"(graph g(%x: f32[N,64,H,W]) {
  %m: f32[N,64,1,1] = GlobalAveragePool(%x)
  %y: f32[N,64,H,W] = Mul(%x, %m)
  return y = %y
}
)",
     ""},
    {"a residual block", R"(graph g(%x: f32[N,64,H,W]) {
  %a: f32[N,32,H,W] = Conv(%x, @w32x64x1x1, @w32) "a"
  %b: f32[N,32,H,W] = Relu(%a) "b"
  %c: f32[N,64,H,W] = Conv(%b, @w64x32x3x3) {pads = [1, 1, 1, 1]} "c"
  %d: f32[N,64,H,W] = Mul(%c, @w64x1x1) "d"
  %e: f32[N,64,H,W] = Add(%d, %x) "e"
  %y: f32[N,64,H,W] = Relu(%e) "y"
  return y = %y
}
)",
     R"(  %1: f32[64,32] = Transpose(@w0) {perm = [1, 0]} "a"
  %2: f32[N,H,W,64] = Transpose(%x) {perm = [0, 2, 3, 1]} "a"
  %3: f32[N,H,W,32] = MatMul(%2, %1) "a"
  %4: f32[N,H,W,32] = Add(%3, @w32) "a"
  %5: f32[N,H,W,32] = Relu(%4) "b"
  %6: f32[N,H,W,64] = frazil::ConvChannelsLast(%5, @w64x32x3x3) {pads = [1, 1, 1, 1]} "c"
  %7: f32[N,H,W,64] = Mul(%6, @w3) "d"
  %8: f32[N,H,W,64] = Add(%7, %2) "e"
  %9: f32[N,H,W,64] = Relu(%8) "y"
  %y: f32[N,64,H,W] = Transpose(%9) {perm = [0, 3, 1, 2]} "y"
  return y = %y
}
)"},
    {"groups, strides and pools", R"(graph g(%x: f32[2,64,H,W]) {
  %a: f32[2,64,floordiv(H + 1, 2),floordiv(W + 1, 2)] = Conv(%x, @w64x64x3x3, @w64) {pads = [1, 1, 1, 1], strides = [2, 2]} "a"
  %b: f32[2,64,floordiv(H + 1, 2),floordiv(W + 1, 2)] = Conv(%a, @w64x1x3x3) {group = 64, pads = [1, 1, 1, 1]} "b"
  %c: f32[2,64,floordiv(H + 1, 2),floordiv(W + 1, 2)] = MaxPool(%b) {kernel_shape = [2, 2], pads = [0, 1, 1, 0]} "c"
  %y: f32[2,64,1,1] = GlobalAveragePool(%c) "y"
  return y = %y
}
)",
     R"(  %1: f32[2,H,W,64] = Transpose(%x) {perm = [0, 2, 3, 1]} "a"
  %2: f32[2,floordiv(H + 1, 2),floordiv(W + 1, 2),64] = frazil::ConvChannelsLast(%1, @w64x64x3x3, @w64) {pads = [1, 1, 1, 1], strides = [2, 2]} "a"
  %3: f32[2,floordiv(H + 1, 2),floordiv(W + 1, 2),64] = frazil::ConvChannelsLast(%2, @w64x1x3x3) {group = 64, pads = [1, 1, 1, 1]} "b"
  %4: f32[2,floordiv(H + 1, 2),floordiv(W + 1, 2),64] = frazil::MaxPoolChannelsLast(%3) {kernel_shape = [2, 2], pads = [0, 1, 1, 0]} "c"
  %5: f32[2,1,1,64] = ReduceMean(%4, i64[2] [1, 2]) "y"
  %y: f32[2,64,1,1] = Transpose(%5) {perm = [0, 3, 1, 2]} "y"
  return y = %y
}
)"},
    {"a value with a plain use is turned once", R"(graph g(%x: f32[N,64,H,W]) {
  %a: f32[N,64,H,W] = Conv(%x, @w64x64x3x3) {pads = [1, 1, 1, 1]} "a"
  %b: f32[N,64,H,W] = Neg(%a) "b"
  %s: f32[64*H*N*W] = Reshape(%b, i64[1] [-1]) "s"
  %t: f32[N,64*H*W] = Flatten(%b) "t"
  %c: f32[N,64,H,W] = Conv(%b, @w64x64x3x3) {pads = [1, 1, 1, 1]} "c"
  return c = %c, s = %s, t = %t
}
)",
     R"(  %1: f32[N,H,W,64] = Transpose(%x) {perm = [0, 2, 3, 1]} "a"
  %2: f32[N,H,W,64] = frazil::ConvChannelsLast(%1, @w64x64x3x3) {pads = [1, 1, 1, 1]} "a"
  %3: f32[N,H,W,64] = Neg(%2) "b"
  %b: f32[N,64,H,W] = Transpose(%3) {perm = [0, 3, 1, 2]} "b"
  %s: f32[64*H*N*W] = Reshape(%b, i64[1] [-1]) "s"
  %t: f32[N,64*H*W] = Flatten(%b) "t"
  %4: f32[N,H,W,64] = frazil::ConvChannelsLast(%3, @w64x64x3x3) {pads = [1, 1, 1, 1]} "c"
  %c: f32[N,64,H,W] = Transpose(%4) {perm = [0, 3, 1, 2]} "c"
  return c = %c, s = %s, t = %t
}
)"},
    {"a network that has its images transposed itself", R"(graph g(%x: f32[N,H,W,64]) {
  %t: f32[N,64,H,W] = Transpose(%x) {perm = [0, 3, 1, 2]} "t"
  %c: f32[N,64,H,W] = Conv(%t, @w64x64x3x3) {pads = [1, 1, 1, 1]} "c"
  %y: f32[N,H,W,64] = Transpose(%c) {perm = [0, 2, 3, 1]} "y"
  return y = %y
}
)",
     R"(  %y: f32[N,H,W,64] = frazil::ConvChannelsLast(%x, @w64x64x3x3) {pads = [1, 1, 1, 1]} "c"
  return y = %y
}
)"},
    {"patches as tokens", R"(graph g(%x: f32[N,3,16,16]) {
  %c: f32[N,96,4,4] = Conv(%x, @w96x3x4x4) {strides = [4, 4]} "c"
  %f: f32[N,96,16] = Reshape(%c, i64[3] [0, 96, -1]) "f"
  %y: f32[N,16,96] = Transpose(%f) {perm = [0, 2, 1]} "y"
  return y = %y
}
)",
     R"(  %1: f32[N,16,16,3] = Transpose(%x) {perm = [0, 2, 3, 1]} "c"
  %2: f32[N,4,4,96] = frazil::ConvChannelsLast(%1, @w96x3x4x4) {strides = [4, 4]} "c"
  %y: f32[N,16,96] = frazil::MergeAxes(%2) {axis = 1} "f"
  return y = %y
}
)"},
    {"squeeze and excite", R"(graph g(%x: f32[1,64,H,W]) {
  %a: f32[1,64,H,W] = Conv(%x, @w64x64x3x3) {pads = [1, 1, 1, 1]} "a"
  %m: f32[1,64,1,1] = GlobalAveragePool(%a) "m"
  %p: f32[1,4,1,1] = Conv(%m, @w4x64x1x1) "p"
  %q: f32[1,64,1,1] = Conv(%p, @w64x4x1x1) "q"
  %s: f32[1,64,1,1] = Sigmoid(%q) "s"
  %y: f32[1,64,H,W] = Mul(%a, %s) "y"
  return y = %y
}
)",
     R"(  %1: f32[1,H,W,64] = Transpose(%x) {perm = [0, 2, 3, 1]} "a"
  %2: f32[1,H,W,64] = frazil::ConvChannelsLast(%1, @w64x64x3x3) {pads = [1, 1, 1, 1]} "a"
  %3: f32[1,1,1,64] = ReduceMean(%2, i64[2] [1, 2]) "m"
  %4: f32[64,4] = Transpose(@w1) {perm = [1, 0]} "p"
  %5: f32[1,1,1,4] = MatMul(%3, %4) "p"
  %6: f32[4,64] = Transpose(@w2) {perm = [1, 0]} "q"
  %7: f32[1,1,1,64] = MatMul(%5, %6) "q"
  %8: f32[1,1,1,64] = Sigmoid(%7) "s"
  %9: f32[1,H,W,64] = Mul(%2, %8) "y"
  %y: f32[1,64,H,W] = Transpose(%9) {perm = [0, 3, 1, 2]} "y"
  return y = %y
}
)"},
    {"a larger copy is turned before it is made", R"(graph g(%x: f32[1,64,8,8]) {
  %a: f32[1,64,8,8] = Conv(%x, @w64x64x3x3) {pads = [1, 1, 1, 1]} "a"
  %y: f32[1,64,16,16] = Resize(%a, _, f32[4] [1, 1, 2, 2]) {mode = "linear"} "y"
  return y = %y
}
)",
     R"(  %1: f32[1,8,8,64] = Transpose(%x) {perm = [0, 2, 3, 1]} "a"
  %2: f32[1,8,8,64] = frazil::ConvChannelsLast(%1, @w64x64x3x3) {pads = [1, 1, 1, 1]} "a"
  %a: f32[1,64,8,8] = Transpose(%2) {perm = [0, 3, 1, 2]} "a"
  %y: f32[1,64,16,16] = Resize(%a, _, f32[4] [1, 1, 2, 2]) {mode = "linear"} "y"
  return y = %y
}
)"},
    {"one axis, and three", R"(graph g(%x: f32[N,64,L], %v: f32[N,32,D,H,W]) {
  %a: f32[N,128,L] = Conv(%x, @w128x64x5) {pads = [2, 2]} "a"
  %y: f32[N,128,L] = Tanh(%a) "y"
  %z: f32[N,32,D,H,W] = Conv(%v, @w32x32x3x3x3) {pads = [1, 1, 1, 1, 1, 1]} "z"
  return y = %y, z = %z
}
)",
     R"(  %1: f32[N,L,64] = Transpose(%x) {perm = [0, 2, 1]} "a"
  %2: f32[N,L,128] = frazil::ConvChannelsLast(%1, @w128x64x5) {pads = [2, 2]} "a"
  %3: f32[N,L,128] = Tanh(%2) "y"
  %4: f32[N,D,H,W,32] = Transpose(%v) {perm = [0, 2, 3, 4, 1]} "z"
  %5: f32[N,D,H,W,32] = frazil::ConvChannelsLast(%4, @w32x32x3x3x3) {pads = [1, 1, 1, 1, 1, 1]} "z"
  %y: f32[N,128,L] = Transpose(%3) {perm = [0, 2, 1]} "y"
  %z: f32[N,32,D,H,W] = Transpose(%5) {perm = [0, 4, 1, 2, 3]} "z"
  return y = %y, z = %z
}
)"},
    {"branches", R"(graph g(%x: f32[N,64,H,W], %on: bool[]) {
  %a: f32[N,64,H,W] = Conv(%x, @w64x64x3x3) {pads = [1, 1, 1, 1]} "a"
  %b: f32[N,64,H,W] = If(%on) then_branch() {
    %c: f32[N,64,H,W] = Conv(%a, @w64x64x3x3) {pads = [1, 1, 1, 1]} "c"
    yield %c
  } else_branch() {
    yield %a
  } "b"
  %y: f32[N,64,H,W] = Relu(%b) "y"
  return y = %y
}
)",
     R"(  %1: f32[N,H,W,64] = Transpose(%x) {perm = [0, 2, 3, 1]} "a"
  %2: f32[N,H,W,64] = frazil::ConvChannelsLast(%1, @w64x64x3x3) {pads = [1, 1, 1, 1]} "a"
  %3: f32[N,H,W,64] = If(%on) then_branch() {
    %4: f32[N,H,W,64] = frazil::ConvChannelsLast(%2, @w64x64x3x3) {pads = [1, 1, 1, 1]} "c"
    yield %4
  } else_branch() {
    yield %2
  } "b"
  %5: f32[N,H,W,64] = Relu(%3) "y"
  %y: f32[N,64,H,W] = Transpose(%5) {perm = [0, 3, 1, 2]} "y"
  return y = %y
}
)"},
    {"a carried image", R"(graph g(%x: f32[N,64,H,W]) {
  %a: f32[N,64,H,W], %i: i64[3] = Loop(i64[] 3, _, %x) body(%k: i64[], %on: bool[], %v: f32[N,64,H,W]) {
    %c: f32[N,64,H,W] = Conv(%v, @w64x64x3x3) {pads = [1, 1, 1, 1]} "c"
    %d: f32[N,64,H,W] = Tanh(%c) "d"
    yield %on, %d, %k
  } "a"
  return a = %a, i = %i
}
)",
     R"(  %1: f32[N,H,W,64] = Transpose(%x) {perm = [0, 2, 3, 1]} "a"
  %2: f32[N,H,W,64], %i: i64[3] = Loop(i64[] 3, _, %1) body(%k: i64[], %on: bool[], %3: f32[N,H,W,64]) {
    %4: f32[N,H,W,64] = frazil::ConvChannelsLast(%3, @w64x64x3x3) {pads = [1, 1, 1, 1]} "c"
    %5: f32[N,H,W,64] = Tanh(%4) "d"
    yield %on, %5, %k
  } "a"
  %a: f32[N,64,H,W] = Transpose(%2) {perm = [0, 3, 1, 2]} "a"
  return a = %a, i = %i
}
)"},
    {"a state of a scan", R"(graph g(%x: f32[2,64,H,W], %s: f32[T,2,64,H,W]) {
  %a: f32[2,64,H,W], %o: f32[T,2,64,H,W] = Scan(%x, %s) {num_scan_inputs = 1} body(%v: f32[2,64,H,W], %u: f32[2,64,H,W]) {
    %c: f32[2,64,H,W] = Conv(%v, @w64x64x3x3) {pads = [1, 1, 1, 1]} "c"
    %d: f32[2,64,H,W] = Tanh(%c) "d"
    yield %d, %u
  } "a"
  return a = %a, o = %o
}
)",
     R"(  %1: f32[2,H,W,64] = Transpose(%x) {perm = [0, 2, 3, 1]} "a"
  %2: f32[2,H,W,64], %o: f32[T,2,64,H,W] = Scan(%1, %s) {num_scan_inputs = 1} body(%3: f32[2,H,W,64], %u: f32[2,64,H,W]) {
    %4: f32[2,H,W,64] = frazil::ConvChannelsLast(%3, @w64x64x3x3) {pads = [1, 1, 1, 1]} "c"
    %5: f32[2,H,W,64] = Tanh(%4) "d"
    yield %5, %u
  } "a"
  %a: f32[2,64,H,W] = Transpose(%2) {perm = [0, 3, 1, 2]} "a"
  return a = %a, o = %o
}
)"},
};

class Layouts : public testing::TestWithParam<LayoutExample> {};

TEST_P(Layouts, Become) {
  const Graph before = graph_with_weights(std::string(GetParam().before));
  const Graph after = through_layout(before);
  EXPECT_EQ(nodes_of(after), GetParam().after.empty() ? nodes_of(before) : GetParam().after);
  expect_same_results(before, after);
}

std::string example_name(const testing::TestParamInfo<LayoutExample>& info) {
  std::string name(info.param.name);
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Pass, Layouts, testing::ValuesIn(kLayoutExamples), example_name);

constexpr std::string_view kTwoKinds = R"(graph g(%x: f32[N,H,W,64]) {
  %t: f32[N,64,H,W] = Transpose(%x) {perm = [0, 3, 1, 2]} "t"
  %a: f32[N,32,H,W] = Conv(%t, @w32x64x1x1) "a"
  %b: f32[N,32,H,W] = Relu(%a) "b"
  %y: f32[N,32,H,W] = Conv(%b, @w32x1x3x3) {group = 32, pads = [1, 1, 1, 1]} "y"
  return y = %y
}
)";

TEST(Layout, LeavesWindowsWithoutAKernel) {
  const std::string text = print(through_layout(graph_with_weights(std::string(kTwoKinds)), false));
  EXPECT_THAT(text, testing::HasSubstr("MatMul("));
  EXPECT_THAT(text, testing::HasSubstr(" Conv("));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("ChannelsLast")));
}

std::map<std::string, std::uint32_t> ids_of(const Graph& graph, std::initializer_list<std::string_view> names) {
  std::map<std::string, std::uint32_t> ids;
  for (NodeId id : graph.main().nodes) {
    const Node& node = graph.node(id);
    if (std::ranges::find(names, node.op->name) != names.end()) ids[node.name] = node.stable;
  }
  return ids;
}

TEST(Layout, NodesKeepTheirIdsAndValuesThatAreTurnedHaveNoName) {
  const Graph before = graph_with_weights(std::string(kTwoKinds)), after = through_layout(before);
  EXPECT_EQ(ids_of(after, {"MatMul", "Relu", "ConvChannelsLast"}), ids_of(before, {"Conv", "Relu"}));
  std::set<std::string> names;
  for (const NodeId n : after.nodes()) {
    for (const Value v : after.node(n).out) names.insert(after.value_name(v));
  }
  EXPECT_TRUE(names.contains("y"));
  EXPECT_FALSE(names.contains("a") || names.contains("b"));
}

}  // namespace
}  // namespace frazil::test
