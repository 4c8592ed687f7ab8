// A batched graph gives what a loop over its elements gives: one graph per form at least on every tier, and ONNX's own
// cases.
#include "pass/batch/batch.h"

#include <cstring>
#include <map>
#include <random>

#include <gmock/gmock.h>

#include "base/value/float.h"
#include "ir/op/op.h"
#include "suite/onnx_cases.h"
#include "suite/tiers.h"

namespace frazil::test {
namespace {

using ::testing::HasSubstr;

// ---- elements and their stack ----

/// A tensor of small numbers; integers are indices into 3 elements.
Tensor random_tensor(Elem elem, const Sizes& sizes, std::mt19937_64& random) {
  Tensor t = Tensor::make(elem, sizes).value();
  std::uniform_real_distribution<float> uniform(-2, 2);
  for (std::int64_t i = 0; i < t.count(); ++i) {
    const float real = uniform(random);
    const auto whole = static_cast<std::int64_t>(random() % 3);
    std::byte* const at = t.mutable_data() + static_cast<std::size_t>(i) * byte_size(elem);
    if (is_small_float(elem)) {
      from_f32(elem, &real, at, 1);
    } else if (elem == Elem::f32) {
      std::memcpy(at, &real, sizeof real);
    } else if (elem == Elem::f64) {
      const double wide = real;
      std::memcpy(at, &wide, sizeof wide);
    } else if (elem == Elem::boolean) {
      *at = std::byte(random() % 2);
    } else {
      std::memset(at, 0, byte_size(elem));
      std::memcpy(at, &whole, 1);
    }
  }
  return t;
}

/// Tensors of one type, at least one, along a new axis 0.
Tensor stacked(const std::vector<Tensor>& parts, std::size_t count) {
  Sizes sizes = parts[0].sizes();
  sizes.insert(sizes.begin(), static_cast<std::int64_t>(count));
  Tensor all = Tensor::make(parts[0].elem(), sizes).value();
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(all.mutable_data() + i * parts[i].bytes(), parts[i].data(), parts[i].bytes());
  }
  return all;
}

/// Element `i` of what has been stacked.
Tensor element(const Tensor& all, std::size_t i) {
  Tensor one = Tensor::make(all.elem(), Sizes(all.sizes().begin() + 1, all.sizes().end())).value();
  if (all.elem() == Elem::string) {
    std::ranges::copy(
        all.as<std::string>().subspan(i * static_cast<std::size_t>(one.count()), one.as<std::string>().size()),
        one.as_mutable<std::string>().begin());
    return one;
  }
  std::memcpy(one.mutable_data(), all.data() + i * one.bytes(), one.bytes());
  return one;
}

// ---- the table ----

struct BatchCase {
  std::string_view name;
  std::string_view graph;   ///< inputs whose name begins with 'x' are batched
  std::size_t loops = 0;    ///< how many nodes run one element after the other
  std::string_view shared;  ///< values of the other inputs; drawn where they are left out
};

const BatchCase kBatchCases[] = {
    // Elementwise
    {"add", "graph g(%x: f32[N,3], %xb: f32[N,3]) { %y = Add(%x, %xb) return y = %y }"},
    {"add_row", "graph g(%x: f32[N,3], %xb: f32[3]) { %y = Add(%x, %xb) return y = %y }"},
    {"add_shared_of_more_axes", "graph g(%x: f32[3], %s: f32[N,3]) { %y = Sub(%s, %x) return y = %y }"},
    {"scalars", "graph g(%x: f32[], %s: f32[2,3]) { %y = Mul(%x, %s) %z = Exp(%x) return y = %y, z = %z }"},
    {"where", "graph g(%xc: bool[3], %x: f32[N,1], %s: f32[]) { %y = Where(%xc, %x, %s) return y = %y }"},
    {"cast", "graph g(%x: f32[N]) { %y = Cast(%x) {to = f16} return y = %y }"},
    {"three_operands", "graph g(%x: f32[2,N], %s: f32[N], %xb: f32[]) { %y = Sum(%x, %s, %xb) return y = %y }"},
    {"map", R"(graph g(%x: f32[N,3], %xb: f32[3]) {
       %y = frazil::GenericMap(%x, %xb) {body = ["f32 load 0", "f32 load 1", "f32 max %0 %1"]}
       return y = %y })"},
    // Contraction
    {"generic", R"(graph g(%x: f32[N,3], %s: f32[3]) {
       %y = frazil::Generic(%x, %s) {space = ["i", "j"], reduce = ["j"], reads = ["i, j", "j"], write = "i",
         body = ["f32 load 0", "f32 load 1", "f32 mul %0 %1"]}
       return y = %y })"},
    {"generic_window", R"(graph g(%x: f32[N], %xw: f32[3]) {
       %y = frazil::Generic(%x, %xw) {space = ["i = d0_0", "k"], reduce = ["k"], reads = ["i + k - 1", "k"],
         write = "i", body = ["f32 load 0", "f32 load 1", "f32 mul %0 %1"]}
       return y = %y })"},
    {"matmul_both", "graph g(%x: f32[N,3], %xb: f32[3,2]) { %y = MatMul(%x, %xb) return y = %y }"},
    {"matmul_left", "graph g(%x: f32[N,3], %s: f32[3,2]) { %y = MatMul(%x, %s) return y = %y }"},
    {"matmul_right", "graph g(%s: f32[N,3], %x: f32[3,2]) { %y = MatMul(%s, %x) return y = %y }"},
    {"matmul_vectors", "graph g(%x: f32[3], %xb: f32[3]) { %y = MatMul(%x, %xb) return y = %y }"},
    {"matmul_matrix_by_vector", "graph g(%x: f32[N,3], %xb: f32[3]) { %y = MatMul(%x, %xb) return y = %y }"},
    {"matmul_of_batches", "graph g(%x: f32[2,1,N,3], %xb: f32[4,3,2]) { %y = MatMul(%x, %xb) return y = %y }"},
    {"matmul_i32", "graph g(%x: i32[N,3], %xb: i32[3,2]) { %y = MatMul(%x, %xb) return y = %y }"},
    {"reduce_first", "graph g(%x: f32[N,3]) { %y = ReduceSum(%x, i64[1] [0]) return y = %y }"},
    {"reduce_last", "graph g(%x: f32[N,3]) { %y = ReduceMax(%x, i64[1] [-1]) {keepdims = 0} return y = %y }"},
    {"reduce_all", "graph g(%x: f32[2,N,3]) { %y = ReduceProd(%x) return y = %y }"},
    {"reduce_bool", "graph g(%x: bool[N,3]) { %y = ReduceMin(%x, i64[1] [1]) return y = %y }"},
    {"reduce_axes_at_run_time", "graph g(%x: f32[2,3], %axes: i64[1]) { %y = ReduceSum(%x, %axes) return y = %y }", 1,
     "%axes = i64[1] [1]"},
    {"arg_max", "graph g(%x: f32[4,N]) { %y = ArgMax(%x) {axis = 0, select_last_index = 1} return y = %y }"},
    {"conv", R"(graph g(%x: f32[N,2,5,5], %s: f32[4,2,3,3], %b: f32[4]) {
       %y = Conv(%x, %s, %b) {pads = [1, 1, 1, 1], strides = [2, 2]} return y = %y })"},
    {"conv_weight", "graph g(%s: f32[N,2,5], %x: f32[4,2,3]) { %y = Conv(%s, %x) {pads = [1, 1]} return y = %y }"},
    {"conv_both", "graph g(%x: f32[N,2,5], %xw: f32[4,2,3]) { %y = Conv(%x, %xw) {pads = [1, 0]} return y = %y }"},
    {"conv_groups", "graph g(%x: f32[N,4,5], %s: f32[4,2,3]) { %y = Conv(%x, %s) {group = 2} return y = %y }"},
    {"conv_transpose",
     "graph g(%x: f32[1,2,4], %s: f32[2,3,3]) { %y = ConvTranspose(%x, %s) {strides = [2]} return y = %y }"},
    {"max_pool", R"(graph g(%x: f32[N,2,5,5]) {
       %y, %i = MaxPool(%x) {kernel_shape = [2, 2], pads = [1, 0, 0, 1]} return y = %y, i = %i })"},
    {"average_pool", R"(graph g(%x: f32[N,2,5,5]) {
       %y = AveragePool(%x) {kernel_shape = [2, 2], strides = [2, 2]} return y = %y })"},
    // View
    {"reshape", "graph g(%x: f32[N,6]) { %y = Reshape(%x, i64[3] [-1, 2, 3]) return y = %y }"},
    {"reshape_as_asked", "graph g(%x: f32[4,3], %shape: i64[2]) { %y = Reshape(%x, %shape) return y = %y }", 1,
     "%shape = i64[2] [6, 2]"},
    {"flatten", "graph g(%x: f32[2,N,3]) { %y = Flatten(%x) return y = %y }"},
    {"transpose", "graph g(%x: f32[N,2,3]) { %y = Transpose(%x) {perm = [2, 0, 1]} return y = %y }"},
    {"unsqueeze_and_squeeze", R"(graph g(%x: f32[1,N]) {
       %a = Squeeze(%x, i64[1] [0]) %y = Unsqueeze(%a, i64[2] [0, -1]) return y = %y })"},
    {"slice",
     "graph g(%x: f32[4,N]) { %y = Slice(%x, i64[1] [3], i64[1] [0], i64[1] [0], i64[1] [-2]) return y = %y }"},
    {"slice_at_run_time", "graph g(%x: f32[4,N], %a: i64[1], %b: i64[1]) { %y = Slice(%x, %a, %b) return y = %y }", 1,
     "%a = i64[1] [1], %b = i64[1] [3]"},
    {"slice_by_element", R"(graph g(%s: f32[4,N], %x: i64[1]) {
       %e = Add(%x, i64[1] [2]) %y = Slice(%s, %x, %e) %z = ReduceSum(%y, i64[1] [0]) return z = %z })",
     1},
    {"concat", "graph g(%x: f32[N,2], %s: f32[N,3]) { %y = Concat(%x, %s, %x) {axis = -1} return y = %y }"},
    {"split", "graph g(%x: f32[N,6]) { %a, %b = Split(%x, i64[2] [2, 4]) {axis = 1} return b = %b, a = %a }"},
    {"pad", "graph g(%x: f32[N,3]) { %y = Pad(%x, i64[4] [0, 1, 2, 1], f32[] 7) return y = %y }"},
    {"pad_reflect", R"(graph g(%x: f32[2,3]) { %y = Pad(%x, i64[4] [1, 2, 0, 1]) {mode = "reflect"} return y = %y })"},
    {"pad_with_element", "graph g(%s: f32[2,3], %x: f32[]) { %y = Pad(%s, i64[4] [1, 0, 0, 1], %x) return y = %y }", 1},
    {"expand", "graph g(%x: f32[N,1]) { %y = Expand(%x, i64[3] [2, 1, 4]) return y = %y }"},
    {"tile", "graph g(%x: f32[2,N]) { %y = Tile(%x, i64[2] [2, 3]) return y = %y }"},
    {"view", R"(graph g(%x: f32[N,3]) {
       %y = frazil::GenericView(%x) {shape = ["d0_0"], offsets = ["0", "1"], axes = [0, -1]} return y = %y })"},
    {"depth_to_space", "graph g(%x: f32[1,8,2,N]) { %y = DepthToSpace(%x) {blocksize = 2} return y = %y }"},
    // composites
    {"softmax", "graph g(%x: f32[N,4]) { %y = Softmax(%x) return y = %y }"},
    {"reduce_mean", "graph g(%x: f32[N,4]) { %y = ReduceMean(%x, i64[1] [0]) return y = %y }"},
    {"layer_norm", R"(graph g(%x: f32[N,4], %s: f32[4], %b: f32[4]) {
       %y = LayerNormalization(%x, %s, %b) return y = %y })"},
    {"gemm", "graph g(%x: f32[N,3], %s: f32[3,2], %xc: f32[2]) { %y = Gemm(%x, %s, %xc) {alpha = 0.5} return y = %y }"},
    {"einsum",
     R"(graph g(%x: f32[N,3], %xb: f32[3,2]) { %y = Einsum(%x, %xb) {equation = "ij,jk->ki"} return y = %y })"},
    // what is made of extents stays as it is
    {"extents", R"(graph g(%x: f32[N,3,2]) {
       %s = Shape(%x) %n = Gather(%s, i64[1] [0]) %shape = Concat(%n, i64[1] [-1]) {axis = 0}
       %y = Reshape(%x, %shape) return y = %y, s = %s })"},
    {"a_result_of_nothing",
     "graph g(%x: f32[N], %s: f32[2]) { %a = Exp(%s) return a = %a, s = %s, c = f32[2] [1, 2] }"},
    // by operator
    {"gather_of_data", "graph g(%x: f32[2,3], %i: i64[4]) { %y = Gather(%x, %i) {axis = -1} return y = %y }"},
    {"gather_by_indices", "graph g(%s: f32[3,2], %x: i64[N,2]) { %y = Gather(%s, %x) return y = %y }"},
    {"gather_by_indices_inside",
     "graph g(%s: f32[2,3,2], %x: i64[N]) { %y = Gather(%s, %x) {axis = 1} return y = %y }"},
    {"gather_both", "graph g(%x: f32[3,2], %xi: i64[N]) { %y = Gather(%x, %xi) return y = %y }", 1},
    {"gather_elements",
     "graph g(%x: f32[3,N], %xi: i64[2,N]) { %y = GatherElements(%x, %xi) {axis = 0} return y = %y }"},
    // one element after the other
    {"top_k", "graph g(%x: f32[N,4]) { %y, %i = TopK(%x, i64[1] [2]) return y = %y, i = %i }", 1},
    {"scatter", "graph g(%x: f32[3], %i: i64[2], %xu: f32[2]) { %y = ScatterElements(%x, %i, %xu) return y = %y }", 1,
     "%i = i64[2] [2, 0]"},
    {"lstm", R"(graph g(%x: f32[3,N,2], %w: f32[1,8,2], %r: f32[1,8,2]) {
       %y, %h = LSTM(%x, %w, %r) {hidden_size = 2} return y = %y, h = %h })",
     1},
    {"if_of_all", R"(graph g(%x: f32[N], %c: bool[], %s: f32[N]) {
       %y = If(%c) then_branch() { %a = Neg(%x) yield %a } else_branch() { yield %s }
       return y = %y })"},
    {"if_of_each", R"(graph g(%x: f32[N], %xc: bool[]) {
       %y = If(%xc) then_branch() { %a = Neg(%x) yield %a } else_branch() { yield %x }
       return y = %y })",
     1},
    {"loop", R"(graph g(%x: f32[N], %n: i64[], %s: f32[]) {
       %y, %all = Loop(%n, _, %x) body(%i: i64[], %on: bool[], %v: f32[N]) {
         %w = Mul(%v, %s) yield %on, %w, %w }
       return y = %y, all = %all })",
     1, "%n = i64[] 3"},
    {"loop_that_reads_it", R"(graph g(%x: f32[N], %n: i64[], %s: f32[N]) {
       %y = Loop(%n, _, %s) body(%i: i64[], %on: bool[], %v: f32[N]) { %w = Add(%v, %x) yield %on, %w }
       return y = %y })",
     1, "%n = i64[] 2"},
    {"loop_beside", R"(graph g(%x: f32[N], %n: i64[], %s: f32[N]) {
       %a = Loop(%n, _, %s) body(%i: i64[], %on: bool[], %v: f32[N]) { %w = Neg(%v) yield %on, %w }
       %y = Add(%a, %x) return y = %y })",
     0, "%n = i64[] 3"},
    {"scan", R"(graph g(%x: f32[4,N], %xs: f32[N]) {
       %y, %all = Scan(%xs, %x) {num_scan_inputs = 1} body(%s: f32[N], %v: f32[N]) {
         %w = Add(%s, %v) yield %w, %w }
       return y = %y, all = %all })",
     1},
    {"if_inside_of_if", R"(graph g(%x: f32[N], %c: bool[], %xc: bool[]) {
       %y = If(%c) then_branch() {
         %a = If(%xc) then_branch() { %b = Exp(%x) yield %b } else_branch() { yield %x }
         yield %a
       } else_branch() { yield %x }
       return y = %y })",
     1},
};

class Batch : public testing::TestWithParam<BatchCase> {
 protected:
  /// Inputs of `count` elements, of which there is one at least for its type.
  std::vector<std::vector<Datum>> elements(const Graph& graph, std::size_t count) {
    const auto given = in_order(graph, GetParam().shared);
    std::vector<std::vector<Datum>> all(std::max<std::size_t>(count, 1));
    for (std::size_t k = 0; k < graph.main().params.size(); ++k) {
      const Type& type = graph.type(graph.main().params[k]);
      Sizes sizes;
      for (Dim d : type.shape) sizes.push_back(d.is_const() ? d.value() : 3);
      const bool drawn = !given[k].is_tensor() || !given[k].tensor().defined();
      const Datum same = drawn ? Datum(random_tensor(type.elem, sizes, random_)) : given[k];
      for (auto& one : all)
        one.push_back(is_batched(graph, k) ? Datum(random_tensor(type.elem, sizes, random_)) : same);
    }
    return all;
  }

  static bool is_batched(const Graph& graph, std::size_t k) { return graph.input_names()[k].starts_with('x'); }

  static std::vector<Datum> batch_of(const Graph& graph, const std::vector<std::vector<Datum>>& all,
                                     std::size_t count) {
    std::vector<Datum> inputs;
    for (std::size_t k = 0; k < all[0].size(); ++k) {
      std::vector<Tensor> parts;
      for (const auto& one : all) parts.push_back(one[k].tensor());
      inputs.push_back(is_batched(graph, k) ? Datum(stacked(parts, count)) : all[0][k]);
    }
    return inputs;
  }

  std::mt19937_64 random_{42};
};

TEST_P(Batch, GivesWhatALoopGives) {
  const Graph graph = graph_of(GetParam().graph);
  std::vector<std::size_t> inputs;
  for (std::size_t k = 0; k < graph.main().params.size(); ++k) {
    if (is_batched(graph, k)) inputs.push_back(k);
  }
  pass::BatchCounts counts;
  const auto batched = pass::batch(graph, inputs, &counts);
  ASSERT_TRUE(batched) << batched.error().text();
  SCOPED_TRACE(print(*batched));
  EXPECT_EQ(counts.by_loop, GetParam().loops);
  const auto again = parse(print(*batched));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(print(*again), print(*batched));
  for (const std::size_t count : {0, 1, 2, 5}) {
    SCOPED_TRACE(count);
    const auto all = elements(graph, count);
    const auto got = run_tiers(*batched, batch_of(graph, all, count), sum_of(50, 8));
    ASSERT_TRUE(got) << got.error().text();
    for (const Datum& result : *got) ASSERT_EQ(result.tensor().sizes()[0], static_cast<std::int64_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
      const auto want = run_on_reference(graph, all[i]);
      ASSERT_TRUE(want) << want.error().text();
      std::vector<Datum> one;
      for (const Datum& result : *got) one.emplace_back(element(result.tensor(), i));
      expect_equal(graph, one, *want, sum_of(50, 8));
    }
  }
}

std::string batch_case_name(const testing::TestParamInfo<BatchCase>& info) { return std::string(info.param.name); }
INSTANTIATE_TEST_SUITE_P(Forms, Batch, testing::ValuesIn(kBatchCases), batch_case_name);

// ---- what is kept, what is refused ----

Graph batched_graph(std::string_view text, std::vector<std::size_t> inputs, pass::BatchCounts* counts = nullptr) {
  auto made = pass::batch(graph_of(text), inputs, counts);
  EXPECT_TRUE(made) << made.error().text();
  return made ? std::move(*made) : Graph();
}

TEST(BatchGraph, OperatorsWithKernelsStay) {
  const Graph product = batched_graph("graph g(%x: f32[M,3], %w: f32[3,2]) { %y = MatMul(%x, %w) return y = %y }", {0});
  EXPECT_THAT(print(product), HasSubstr("%y: f32[batch,M,2] = MatMul(%x, %w)"));
  const Graph conv = batched_graph("graph g(%x: f32[N,2,H], %w: f32[4,2,3]) { %y = Conv(%x, %w) return y = %y }", {0});
  EXPECT_THAT(print(conv), HasSubstr("f32[N*batch,4,H - 2] = frazil::ConvSum("));
}

TEST(BatchGraph, CountsSayHow) {
  pass::BatchCounts counts;
  batched_graph(R"(graph g(%x: f32[N], %s: f32[N]) {
    %a = Exp(%s) %b = Add(%x, %a) %v, %i = TopK(%b, i64[1] [1]) %n = Shape(%x) return v = %v, n = %n })",
                {0}, &counts);
  EXPECT_EQ(counts.by_rule, 1u);
  EXPECT_EQ(counts.by_loop, 1u);
  EXPECT_EQ(counts.shared, 2u);
}

TEST(BatchGraph, TheSymbolGetsAFreeName) {
  const Graph g = batched_graph("graph g(%x: f32[batch]) { %y = Exp(%x) return y = %y }", {0});
  EXPECT_THAT(print(g), HasSubstr("%x: f32[batch_,batch]"));
}

TEST(BatchGraph, EachElementDrawsItsOwnNumbers) {
  const Graph g =
      batched_graph("graph g(%x: f32[8]) { %u = RandomUniformLike(%x) %y = Add(%x, %u) return y = %y }", {0});
  const Tier0 tier(g);
  const auto got = tier.session->run(std::vector<Datum>{Tensor::of<float>({2, 8}, std::vector<float>(16, 0))});
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_TRUE(difference(element((*got)[0].tensor(), 0), element((*got)[0].tensor(), 1)));
}

struct Refusal {
  std::string_view graph, message;
  std::vector<std::size_t> inputs = {0};
};
const Refusal kRefusals[] = {
    {"graph g(%x: f32[4,N]) { %s = SplitToSequence(%x) \"cut\" %n = SequenceAt(%s, i64[] 0) return n = %n }",
     "node 'cut' (SplitToSequence): it cannot be batched: its result seq<"},
    {"graph g(%x: f32[N]) { %y = Exp(%x) return y = %y }", "there is no input 3: the graph has 1", {3}},
    {"graph g(%x: f32[N]) { %y = Exp(%x) return y = %y }", "no input is batched", {}},
    {"graph g(%x: seq<f32[N]>) { %y = SequenceLength(%x) return y = %y }",
     "input 'x' is seq<f32[N]>: it cannot get an axis"},
    {R"(graph g(%x: f32[N], %xc: bool[]) {
       %y = If(%xc) then_branch() { yield %x } else_branch() { %b = ReduceSum(%x) {keepdims = 0} yield %b } "exit"
       return y = %y })",
     "node 'exit' (If): it cannot be batched: its result f32[...] has no axes to stack",
     {0, 1}},
};

TEST(BatchGraph, RefusalsNameTheNode) {
  for (const Refusal& r : kRefusals) {
    SCOPED_TRACE(r.graph);
    const auto made = pass::batch(graph_of(r.graph), r.inputs);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().text(), HasSubstr(std::string(r.message)));
  }
}

TEST(BatchGraph, ExtentsThatDifferFailTheRun) {
  const Graph g = batched_graph("graph g(%x: f32[3]) { %y = NonZero(%x) \"find\" return y = %y }", {0});
  EXPECT_FALSE(run_tiers(g, "%x = f32[2,3] [1, 0, 0, 1, 1, 0]"));
  const auto same = run_tiers(g, "%x = f32[2,3] [1, 0, 0, 0, 0, 1]");
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_EQ((*same)[0].tensor().sizes(), (Sizes{2, 1, 1}));
}

TEST(BatchGraph, ConditionsOfANodeStay) {
  const Graph g = batched_graph("graph g(%x: f32[N], %s: f32[M]) { %y = MatMul(%x, %s) return y = %y }", {0});
  EXPECT_TRUE(run_tiers(g, "%x = f32[2,2] 1, %s = f32[2] 1"));
  EXPECT_FALSE(run_tiers(g, "%x = f32[2,2] 1, %s = f32[3] 1"));
  const Graph h = batched_graph("graph g(%x: f32[N]) { %y = Reshape(%x, i64[2] [2, 3]) return y = %y }", {0});
  EXPECT_FALSE(run_tiers(h, "%x = f32[2,5] 1"));
}

// ---- ONNX's cases ----

/// The same elements in another order.
Datum reversed(const Datum& datum) {
  Tensor t = Tensor::make(datum.tensor().elem(), datum.tensor().sizes()).value();
  const std::size_t width = byte_size(t.elem()), count = static_cast<std::size_t>(t.count());
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(t.mutable_data() + i * width, datum.tensor().data() + (count - 1 - i) * width, width);
  }
  return t;
}

enum class Outcome { same, refused, no_floats, random, large, not_loaded };

bool draws(const Graph& graph) {
  for (std::uint32_t n = 0; n < graph.node_count(); ++n) {
    if (graph.node(NodeId{n}).op->stateful) return true;
  }
  return false;
}

/// Two elements, the second with its floats in reverse where the graph takes that, held against the reference.
Outcome sweep(const std::filesystem::path& folder) {
  const auto graph = import_onnx((folder / "model.onnx").string());
  if (!graph) return Outcome::not_loaded;
  if (draws(*graph)) return Outcome::random;
  const auto first = read_set(folder / "test_data_set_0", "input", *graph, graph->main().params);
  if (!first || first->size() != graph->main().params.size()) return Outcome::not_loaded;
  std::vector<std::size_t> floats;
  std::int64_t elements = 0;
  for (std::size_t k = 0; k < first->size(); ++k) {
    const Type& type = graph->type(graph->main().params[k]);
    if (type.is_tensor() && (*first)[k].is_tensor()) elements += (*first)[k].tensor().count();
    if (type.is_tensor() && type.ranked && contains(elems::kFloat, type.elem)) floats.push_back(k);
  }
  if (floats.empty()) return Outcome::no_floats;
  if (elements > 20000) return Outcome::large;
  auto second = *first;
  for (std::size_t k : floats) second[k] = reversed(second[k]);
  const auto want_first = run_on_reference(*graph, *first);
  if (!want_first) return Outcome::not_loaded;
  auto want_second = run_on_reference(*graph, second);
  const auto same_sizes = [](const Datum& a, const Datum& b) {
    return a.is_tensor() && b.is_tensor() && a.tensor().sizes() == b.tensor().sizes();
  };
  if (!want_second || !std::ranges::equal(*want_first, *want_second, same_sizes)) {
    second = *first;
    want_second = want_first;
  }
  const auto batched = pass::batch(*graph, floats);
  if (!batched) {
    EXPECT_EQ(batched.error().code, Code::unsupported) << batched.error().text();
    EXPECT_THAT(batched.error().text(), ::testing::AnyOf(HasSubstr("node "), HasSubstr("output '"))) << folder;
    return Outcome::refused;
  }
  auto inputs = *first;
  for (std::size_t k : floats) inputs[k] = stacked({(*first)[k].tensor(), second[k].tensor()}, 2);
  const Tier0 tier(*batched);
  if (!tier) return Outcome::refused;
  const auto got = tier.session->run(inputs);
  EXPECT_TRUE(got) << folder << ": " << got.error().text() << "\n" << print(*batched);
  if (!got) return Outcome::refused;
  for (std::size_t i = 0; i < got->size(); ++i) {
    for (const std::size_t k : {0, 1}) {
      const Tensor one = element((*got)[i].tensor(), k);
      const auto what = difference(Datum(one), (k == 0 ? *want_first : *want_second)[i], {.rtol = 1e-3, .atol = 1e-4});
      EXPECT_FALSE(what) << folder << ", output '" << graph->output_names()[i] << "': " << *what << "\n"
                         << print(*batched);
    }
  }
  return Outcome::same;
}

TEST(BatchGraph, OnnxCases) {
  const auto cases = node_cases();
  if (cases.empty()) GTEST_SKIP() << "there are no ONNX cases; set FRAZIL_SHARED";
  link_operators();
  std::map<Outcome, std::size_t> counts;
  for (const auto& entry : std::filesystem::directory_iterator(cases)) {
    if (std::filesystem::exists(entry.path() / "test_data_set_0")) ++counts[sweep(entry.path())];
  }
  // What is refused gives sequences or optionals, or has a rank that depends on the element.
  RecordProperty("same", static_cast<int>(counts[Outcome::same]));
  RecordProperty("refused", static_cast<int>(counts[Outcome::refused]));
  RecordProperty("not_loaded", static_cast<int>(counts[Outcome::not_loaded]));
  EXPECT_GE(counts[Outcome::same], cases == kDebianCases ? 734u : 1434u);
  EXPECT_LE(counts[Outcome::refused], 9u);
  EXPECT_LE(counts[Outcome::not_loaded], 60u);
}

}  // namespace
}  // namespace frazil::test
