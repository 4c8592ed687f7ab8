// A graph of joined requests gives the rows that each request alone gives: cases per form and operator on every tier,
// for several sets of lengths, and the graphs that are refused.
#include "pass/batch/ragged.h"

#include <cstring>
#include <random>

#include <gmock/gmock.h>

#include "suite/tiers.h"

namespace frazil::test {
namespace {

using ::testing::HasSubstr;

using Lengths = std::vector<std::int64_t>;
constexpr std::int64_t kBatch = 2;  ///< extent of other symbols

std::optional<std::size_t> row_axis(const Graph& graph, Value v) {
  const auto symbol = graph.scope().find_symbol("L");
  const Shape& shape = graph.type(v).shape;
  const auto at = std::ranges::find(shape, graph.scope().symbol_dim(*symbol));
  return at == shape.end() ? std::nullopt : std::optional<std::size_t>(at - shape.begin());
}

/// Numbers from -1 to 1, and integers below 3.
Tensor random_tensor(const Type& type, std::int64_t length, const Graph& graph, std::mt19937& random) {
  Sizes sizes;
  const Dim rows = graph.scope().symbol_dim(*graph.scope().find_symbol("L"));
  for (const Dim d : type.shape) sizes.push_back(d.is_const() ? d.value() : d == rows ? length : kBatch);
  Tensor t = Tensor::make(type.elem, sizes).value();
  std::uniform_real_distribution<float> uniform(-1, 1);
  if (type.elem == Elem::f32) std::ranges::generate(t.as_mutable<float>(), [&] { return uniform(random); });
  if (type.elem == Elem::i64) std::ranges::generate(t.as_mutable<std::int64_t>(), [&] { return random() % 3; });
  return t;
}

/// Copies the box of `part` at `begin` along an axis of `whole`, there or back.
void copy_rows(Tensor& whole, Tensor& part, std::size_t axis, std::int64_t begin, bool back) {
  const auto bytes = static_cast<std::int64_t>(byte_size(whole.elem()));
  std::int64_t outer = 1, inner = bytes;
  for (std::size_t a = 0; a < axis; ++a) outer *= whole.sizes()[a];
  for (std::size_t a = axis + 1; a < whole.sizes().size(); ++a) inner *= whole.sizes()[a];
  const std::int64_t all = whole.sizes()[axis] * inner, some = part.sizes()[axis] * inner;
  for (std::int64_t o = 0; o < outer; ++o) {
    std::byte* const a = whole.mutable_data() + o * all + begin * inner;
    std::byte* const b = part.mutable_data() + o * some;
    std::memcpy(back ? b : a, back ? a : b, static_cast<std::size_t>(some));
  }
}

Tensor joined(std::vector<Tensor> parts, std::size_t axis) {
  Sizes sizes = parts[0].sizes();
  sizes[axis] = 0;
  for (const Tensor& part : parts) sizes[axis] += part.sizes()[axis];
  Tensor whole = Tensor::make(parts[0].elem(), sizes).value();
  std::int64_t at = 0;
  for (Tensor& part : parts) {
    copy_rows(whole, part, axis, at, false);
    at += part.sizes()[axis];
  }
  return whole;
}

struct RaggedCase {
  std::string_view name;
  std::string_view graph;  ///< inputs with an axis L differ between requests
};

const RaggedCase kRaggedCases[] = {
    // one row at a time
    {"linear", R"(graph g(%x: f32[L,3], %w: f32[3,2], %b: f32[2]) {
       %a = MatMul(%x, %w) %c = Add(%a, %b) %y = Relu(%c) return y = %y })"},
    {"two_inputs", "graph g(%x: f32[L,3], %z: f32[L,1]) { %y = Mul(%x, %z) return y = %y, z = %z }"},
    {"row_axis_in_the_middle", R"(graph g(%x: f32[N,L,3], %w: f32[3,4]) {
       %a = MatMul(%x, %w) %y = Softmax(%a) {axis = -1} return y = %y })"},
    {"norm", R"(graph g(%x: f32[N,L,4], %s: f32[4], %b: f32[4]) {
       %y = LayerNormalization(%x, %s, %b) return y = %y })"},
    {"mean_of_a_row", "graph g(%x: f32[L,2,3]) { %y = ReduceMean(%x, i64[2] [1, 2]) {keepdims = 0} return y = %y }"},
    {"best_of_a_row", "graph g(%x: f32[L,5]) { %y = ArgMax(%x) {axis = 1} return y = %y }"},
    {"embedding", "graph g(%x: i64[N,L], %s: f32[3,2]) { %y = Gather(%s, %x) return y = %y }"},
    {"embedding_inside", "graph g(%x: i64[L], %s: f32[2,3,2]) { %y = Gather(%s, %x) {axis = 1} return y = %y }"},
    {"columns_by_index", "graph g(%x: f32[L,3], %i: i64[4]) { %y = Gather(%x, %i) {axis = 1} return y = %y }"},
    {"heads", R"(graph g(%x: f32[N,L,6]) {
       %s = Shape(%x) %n = Gather(%s, i64[1] [0]) %l = Gather(%s, i64[1] [1])
       %shape = Concat(%n, %l, i64[2] [2, 3]) {axis = 0}
       %a = Reshape(%x, %shape) %y = Transpose(%a) {perm = [0, 2, 1, 3]} return y = %y })"},
    {"columns", R"(graph g(%x: f32[L,6]) {
       %a = Slice(%x, i64[1] [1], i64[1] [5], i64[1] [1]) %b, %c = Split(%a, i64[2] [1, 3]) {axis = 1}
       %y = Concat(%c, %b, %b) {axis = 1} %z = Pad(%y, i64[4] [0, 1, 0, 0]) return z = %z })"},
    {"same_for_all_rows", R"(graph g(%x: f32[L,3], %b: f32[1,3]) {
       %s = Shape(%x) %e = Expand(%b, %s) %y = Sub(%x, %e) return y = %y })"},
    {"checked_extents", R"(graph g(%x: f32[L,3], %b: f32[3], %t: f32[5,3]) {
       %s = Shape(%x) %n = Gather(%s, i64[1] [1]) %c = Expand(%b, %n) %d = Slice(%t, i64[1] [0], i64[1] [1])
       %e = Add(%c, %d) %y = Add(%x, %e) return y = %y })"},
    {"beside_a_loop", R"(graph g(%x: f32[L,3], %s: f32[3]) {
       %a = Loop(i64[] 3, _, %s) body(%i: i64[], %on: bool[], %v: f32[3]) { %w = Neg(%v) yield %on, %w }
       %y = Add(%x, %a) return y = %y })"},
    // recurrent layers
    {"lstm", R"(graph g(%x: f32[L,N,3], %w: f32[1,16,3], %r: f32[1,16,4], %b: f32[1,32]) {
       %y = LSTM(%x, %w, %r, %b) {hidden_size = 4} return y = %y })"},
    {"lstm_both_directions", R"(graph g(%x: f32[L,N,3], %w: f32[2,16,3], %r: f32[2,16,4]) {
       %y = LSTM(%x, %w, %r) {hidden_size = 4, direction = "bidirectional"} return y = %y })"},
    {"lstm_with_states", R"(graph g(%x: f32[L,N,3], %w: f32[1,16,3], %r: f32[1,16,4], %h: f32[1,N,4], %c: f32[1,N,4]) {
       %y = LSTM(%x, %w, %r, _, _, %h, %c) {hidden_size = 4} return y = %y })"},
    {"lstm_with_peepholes", R"(graph g(%x: f32[L,1,3], %w: f32[1,8,3], %r: f32[1,8,2], %p: f32[1,6]) {
       %y = LSTM(%x, %w, %r, _, _, _, _, %p) {hidden_size = 2, clip = 0.5} return y = %y })"},
    {"lstm_batch_first", R"(graph g(%x: f32[N,L,3], %w: f32[1,16,3], %r: f32[1,16,4]) {
       %y = LSTM(%x, %w, %r) {hidden_size = 4, layout = 1} return y = %y })"},
    {"gru", R"(graph g(%x: f32[L,N,3], %w: f32[1,12,3], %r: f32[1,12,4], %b: f32[1,24]) {
       %y = GRU(%x, %w, %r, %b) {hidden_size = 4} return y = %y })"},
    {"gru_backwards", R"(graph g(%x: f32[L,N,3], %w: f32[1,12,3], %r: f32[1,12,4]) {
       %y = GRU(%x, %w, %r) {hidden_size = 4, direction = "reverse", linear_before_reset = 1} return y = %y })"},
    {"rnn", R"(graph g(%x: f32[L,N,3], %w: f32[1,4,3], %r: f32[1,4,4]) {
       %y = RNN(%x, %w, %r) {hidden_size = 4} return y = %y })"},
    {"layers", R"(graph g(%x: i64[L,N], %e: f32[3,4], %w: f32[1,16,4], %r: f32[1,16,4], %u: f32[4,2]) {
       %a = Gather(%e, %x) %b = LSTM(%a, %w, %r) {hidden_size = 4} %c = Squeeze(%b, i64[1] [1]) %d = Add(%c, %a)
       %f = LSTM(%d, %w, %r) {hidden_size = 4, direction = "reverse"} %h = Squeeze(%f, i64[1] [1])
       %y = MatMul(%h, %u) %z = LogSoftmax(%y) {axis = -1} return z = %z })"},
};

const Lengths kLengthSets[] = {{1}, {5}, {7, 4, 4, 1}, {2, 6, 3}, {1, 1, 1}, {3, 9}, {40, 30, 8, 8, 7, 2, 1}};

class Ragged : public testing::TestWithParam<RaggedCase> {};

TEST_P(Ragged, GivesTheRowsOfEachRequest) {
  const Graph graph = graph_of(GetParam().graph);
  const auto made = pass::ragged(graph, "L");
  ASSERT_TRUE(made) << made.error().text();
  SCOPED_TRACE(print(*made));
  const auto again = parse(print(*made));
  ASSERT_TRUE(again) << again.error().text();
  ASSERT_EQ(made->input_names().back(), pass::kLengths);
  std::mt19937 random(7);
  for (const Lengths& lengths : kLengthSets) {
    SCOPED_TRACE(testing::PrintToString(lengths));
    std::vector<std::vector<Datum>> requests(lengths.size());
    std::vector<Datum> all;
    for (const Value v : graph.main().params) {
      const auto axis = row_axis(graph, v);
      const Tensor same = random_tensor(graph.type(v), 0, graph, random);
      std::vector<Tensor> parts;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        parts.push_back(axis ? random_tensor(graph.type(v), lengths[i], graph, random) : same);
        requests[i].emplace_back(parts.back());
      }
      all.emplace_back(axis ? joined(std::move(parts), *axis) : same);
    }
    Tensor counts = Tensor::make(Elem::i64, {static_cast<std::int64_t>(lengths.size())}).value();
    std::ranges::copy(lengths, counts.as_mutable<std::int64_t>().begin());
    all.emplace_back(std::move(counts));
    const auto got = run_tiers(*made, all, sum_of(50));
    ASSERT_TRUE(got) << got.error().text();
    std::int64_t at = 0;
    for (std::size_t i = 0; i < lengths.size(); at += lengths[i++]) {
      const auto want = run_on_reference(graph, requests[i]);
      ASSERT_TRUE(want) << want.error().text();
      std::vector<Datum> own;
      for (std::size_t k = 0; k < want->size(); ++k) {
        Tensor whole = (*got)[k].tensor();
        Tensor part = Tensor::make(whole.elem(), (*want)[k].tensor().sizes()).value();
        copy_rows(whole, part, *row_axis(graph, graph.main().results[k]), at, true);
        own.emplace_back(std::move(part));
      }
      expect_equal(graph, own, *want, sum_of(50));
    }
  }
}

std::string ragged_case_name(const testing::TestParamInfo<RaggedCase>& info) { return std::string(info.param.name); }
INSTANTIATE_TEST_SUITE_P(Forms, Ragged, testing::ValuesIn(kRaggedCases), ragged_case_name);

// ---- what is refused ----

struct RefusedCase {
  std::string_view name, graph, message;
};

const RefusedCase kRefused[] = {
    {"sum_of_rows", "graph g(%x: f32[L,3]) { %a = ReduceSum(%x, i64[1] [0]) %y = Add(%x, %a) return y = %y }",
     "(ReduceSum)"},
    {"softmax_of_rows", "graph g(%x: f32[L,3]) { %y = Softmax(%x) {axis = 0} return y = %y }", "(Softmax)"},
    {"attention", R"(graph g(%x: f32[L,3]) {
       %t = Transpose(%x) {perm = [1, 0]} %s = MatMul(%x, %t) %p = Softmax(%s) %y = MatMul(%p, %x) return y = %y })",
     "(MatMul)"},
    {"running_sum", "graph g(%x: f32[L,3]) { %y = CumSum(%x, i64[] 0) return y = %y }", "(CumSum)"},
    {"window", R"(graph g(%x: f32[1,2,L], %w: f32[2,2,3]) { %y = Conv(%x, %w) {pads = [1, 1]} return y = %y })",
     "(Conv)"},
    {"order_of_rows",
     "graph g(%x: f32[L,3]) { %y = Slice(%x, i64[1] [-1], i64[1] [-999], i64[1] [0], i64[1] [-1]) return y = %y }",
     "(Slice)"},
    {"shifted", "graph g(%x: f32[L,2]) { %y = Pad(%x, i64[4] [1, 0, -1, 0]) return y = %y }", "(Pad)"},
    {"stretched", R"(graph g(%x: f32[L,2]) {
       %y = frazil::GenericView(%x) {shape = ["d0_0"], offsets = ["0", "0"], axes = [0, 0], edges = ["none", "clamp"]}
       return y = %y })",
     "GenericView"},
    {"positions", R"(graph g(%x: f32[L]) {
       %s = Shape(%x) %n = Squeeze(%s) %p = Range(i64[] 0, %n, i64[] 1) %q = Cast(%p) {to = f32} %y = Add(%x, %q)
       return y = %y })",
     "(Range)"},
    {"table_of_positions", R"(graph g(%x: f32[L,2], %t: f32[64,2]) {
       %s = Shape(%x) %n = Gather(%s, i64[1] [0]) %p = Slice(%t, i64[1] [0], %n) %y = Add(%x, %p) return y = %y })",
     "(Slice)"},
    {"fixed_positions", "graph g(%x: f32[L,2], %t: f32[4,2]) { %y = Add(%x, %t) return y = %y }", "(Add)"},
    {"number_of_rows", R"(graph g(%x: f32[L]) {
       %n = Size(%x) %f = Cast(%n) {to = f32} %y = Div(%x, %f) return y = %y })",
     "(Cast)"},
    {"last_position", R"(graph g(%x: f32[L,2], %t: f32[64,2]) {
       %s = Shape(%x) %n = Gather(%s, i64[1] [0]) %m = Sub(%n, i64[1] [1]) %p = Slice(%t, %m, %n) %y = Add(%x, %p)
       return y = %y })",
     "(Slice)"},
    {"rows_twice", "graph g(%x: f32[L,L]) { %y = Neg(%x) return y = %y }", "'x' is f32[L,L]"},
    {"rows_merged", "graph g(%x: f32[2,L,3]) { %y = Reshape(%x, i64[2] [-1, 3]) return y = %y }", "(Reshape)"},
    {"rows_moved",
     "graph g(%x: f32[2,L]) { %s = Shape(%x) %t = Gather(%s, i64[2] [1, 0]) %y = Reshape(%x, %t) return y = %y }",
     "(Reshape)"},
    {"rows_joined", "graph g(%x: f32[L,3]) { %y = Concat(%x, %x) {axis = 0} return y = %y }", "(Concat)"},
    {"loop_over_rows", R"(graph g(%x: f32[L,3], %s: f32[3]) {
       %e, %y = Scan(%s, %x) {num_scan_inputs = 1} body(%a: f32[3], %v: f32[3]) { %w = Add(%a, %v) yield %w, %w }
       return y = %y })",
     "(Scan)"},
    {"read_in_a_branch", R"(graph g(%x: f32[L], %c: bool[]) {
       %y = If(%c) then_branch() { %a = Neg(%x) yield %a } else_branch() { yield %x } return y = %y })",
     "(If)"},
    {"random", "graph g(%x: f32[L]) { %r = RandomNormalLike(%x) %y = Add(%x, %r) return y = %y }",
     "(RandomNormalLike)"},
    {"random_in_a_branch", R"(graph g(%x: f32[L], %c: bool[]) {
       %r = If(%c) then_branch() { %a = RandomNormal() {shape = [1]} yield %a } else_branch() { yield f32[1] [0] }
       %y = Add(%x, %r) return y = %y })",
     "(If)"},
    {"last_state", R"(graph g(%x: f32[L,1,3], %w: f32[1,8,3], %r: f32[1,8,2]) {
       %y, %h = LSTM(%x, %w, %r) {hidden_size = 2} return y = %y, h = %h })",
     "'h' is f32[1,1,2]"},
    {"use_of_last_state", R"(graph g(%x: f32[L,1,3], %w: f32[1,8,3], %r: f32[1,8,2]) {
       %y, %h = LSTM(%x, %w, %r) {hidden_size = 2} %z = Add(%y, %h) return z = %z })",
     "(Add)"},
    {"own_lengths", R"(graph g(%x: f32[L,1,3], %w: f32[1,8,3], %r: f32[1,8,2], %n: i32[1]) {
       %y = LSTM(%x, %w, %r, _, %n) {hidden_size = 2} return y = %y })",
     "(LSTM)"},
    {"rows_as_batch", R"(graph g(%x: f32[4,L,3], %w: f32[1,8,3], %r: f32[1,8,2]) {
       %y = LSTM(%x, %w, %r) {hidden_size = 2} %t = Transpose(%y) {perm = [2, 1, 0, 3]} %s = Softmax(%t) {axis = 0}
       return y = %s })",
     "(LSTM)"},
    {"no_rows", "graph g(%x: f32[L], %z: f32[3]) { return x = %x, z = %z }", "'z' is f32[3]"},
};

class RaggedRefused : public testing::TestWithParam<RefusedCase> {};

TEST_P(RaggedRefused, NamesTheNode) {
  const auto made = pass::ragged(graph_of(GetParam().graph), "L");
  ASSERT_FALSE(made) << print(*made);
  EXPECT_EQ(made.error().code, Code::unsupported);
  EXPECT_THAT(made.error().text(), HasSubstr(std::string(GetParam().message)));
}

std::string refused_case_name(const testing::TestParamInfo<RefusedCase>& info) { return std::string(info.param.name); }
INSTANTIATE_TEST_SUITE_P(Graphs, RaggedRefused, testing::ValuesIn(kRefused), refused_case_name);

TEST(RaggedGraph, AnUnknownExtentIsRefused) {
  const auto made = pass::ragged(graph_of("graph g(%x: f32[L]) { return x = %x }"), "M");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::bad_input);
}

TEST(RaggedGraph, NamesOfTheGraphAreNotTaken) {
  const auto made = pass::ragged(
      graph_of("graph g(%lengths: f32[L,requests]) { %y = Neg(%lengths) return y = %y, lengths_ = %y }"), "L");
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->input_names().back(), "lengths__");
}

}  // namespace
}  // namespace frazil::test
