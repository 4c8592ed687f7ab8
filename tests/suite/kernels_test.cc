#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "plan/model/plan.h"
#include "suite/tiers.h"

// Every operator with a hand-written kernel, compared with its body on the reference executor.
namespace frazil::test {
namespace {

const Sizes kNone{-1};  ///< an absent input

struct KernelCase {
  const char* op;
  Kernel kernel;
  std::vector<Sizes> in;
  const char* attrs = "";
  std::int64_t terms = 1;  ///< number of products or numbers summed per result
  std::size_t outputs = 1;
  Elem elem = Elem::f32;
};

/// What is known when the graph is planned.
enum class Known { extents, weights, ranks };
std::string_view name_of(Known known) {
  return known == Known::extents ? "Inputs" : known == Known::weights ? "Weights" : "Symbols";
}

bool is_recurrent(const KernelCase& c) { return c.kernel == Kernel::lstm || c.kernel == Kernel::gru; }
bool is_reduction(const KernelCase& c) { return c.kernel == Kernel::reduce; }

Elem elem_of_input(const KernelCase& c, std::size_t i) {
  if (i == 4 && is_recurrent(c)) return Elem::i32;
  return i == 1 && is_reduction(c) ? Elem::i64 : c.elem;
}

/// Numbers from -1 to 1 with a long period; small integers for integer types.
double number(std::size_t i) {
  const auto x = static_cast<std::uint32_t>(i * 2654435761u + 12345u);
  return static_cast<double>(x >> 8 & 0xffff) / 32768.0 - 1;
}

template <class T>
void fill(Tensor& t, double factor, std::size_t seed) {
  const auto values = t.as_mutable<T>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(factor * number(i + seed));
}

Tensor numbered_tensor(Elem elem, const Sizes& sizes, std::size_t seed) {
  Tensor t = Tensor::make(elem, sizes).value();
  switch (elem) {
    case Elem::f32: fill<float>(t, 1, seed); break;
    case Elem::f64: fill<double>(t, 1, seed); break;
    case Elem::i32: fill<std::int32_t>(t, 9, seed); break;
    case Elem::i64: fill<std::int64_t>(t, 9, seed); break;
    case Elem::i8: fill<std::int8_t>(t, 9, seed); break;
    case Elem::u8:
      for (std::uint8_t& v : t.as_mutable<std::uint8_t>()) v = static_cast<std::uint8_t>(128 + 100 * number(seed++));
      break;
    default: ADD_FAILURE() << "no numbers for this type";
  }
  return t;
}

/// Lengths of each sequence of a batch; the longest is not first.
Tensor lengths(const Sizes& sizes, std::int64_t steps) {
  Tensor t = Tensor::make(Elem::i32, sizes).value();
  std::int64_t k = 0;
  for (std::int32_t& v : t.as_mutable<std::int32_t>()) v = static_cast<std::int32_t>(steps - (k++ % (steps + 1)));
  return t;
}

Tensor input(const KernelCase& c, std::size_t i) {
  if (i == 4 && is_recurrent(c)) {
    const bool batch_first = std::string_view(c.attrs).find("layout = 1") != std::string_view::npos;
    return lengths(c.in[4], c.in[0][batch_first ? 1 : 0]);
  }
  Tensor t = numbered_tensor(elem_of_input(c, i), c.in[i], 1000 * i);
  if (i == 4 && c.kernel == Kernel::batch_norm) {
    for (float& v : t.as_mutable<float>()) v = v * v + 0.1f;  // a variance
  }
  return t;
}

std::string dims(const KernelCase& c, std::size_t i, Known known) {
  std::string text;
  for (std::size_t d = 0; d < c.in[i].size(); ++d) {
    const bool symbol = known == Known::ranks && (i == 0 || c.kernel == Kernel::matmul) && c.in[i][d] > 1;
    text += fmt::format("{}{}{}", d ? "," : "", symbol ? "E" : "", c.in[i][d]);
  }
  return text;
}

std::string in_braces(std::string_view attrs) { return attrs.empty() ? "" : fmt::format(" {{{}}}", attrs); }

struct Built {
  Graph graph;
  std::vector<Datum> inputs;
};

Built build(const KernelCase& c, Known known) {
  Built built;
  std::string params, operands, results, returned;
  std::map<std::string, Tensor, std::less<>> weights;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    operands += i ? ", " : "";
    if (c.in[i] == kNone) {
      operands += "_";
    } else if (known == Known::weights && i > 0) {
      weights[fmt::format("w{}", i)] = input(c, i);
      operands += fmt::format("@w{}", i);
    } else {
      params +=
          fmt::format("{}%a{}: {}[{}]", i ? ", " : "", i, frazil::name_of(elem_of_input(c, i)), dims(c, i, known));
      operands += fmt::format("%a{}", i);
      built.inputs.push_back(input(c, i));
    }
  }
  for (std::size_t k = 0; k < c.outputs; ++k) {
    results += fmt::format("{}%y{}", k ? ", " : "", k);
    returned += fmt::format("{}y{} = %y{}", k ? ", " : "", k, k);
  }
  std::string declared;
  for (const auto& [name, tensor] : weights) declared += fmt::format("weight @{}: {}\n", name, tensor.type_str());
  const std::string text = fmt::format("{}graph g({}) {{\n  {} = {}({}){}\n  return {}\n}}\n", declared, params,
                                       results, c.op, operands, in_braces(c.attrs), returned);
  link_operators();
  auto graph = parse(text, [&](std::string_view name) {
    const auto at = weights.find(name);
    return at == weights.end() ? Tensor() : at->second;
  });
  EXPECT_TRUE(graph) << graph.error().text() << "\n" << text;
  if (graph) built.graph = std::move(*graph);
  return built;
}

/// With lengths of a batch whose extent is a separate symbol, only the operator's body determines the extents of the
/// last states.
bool needs_own_form(const KernelCase& c, Known known) {
  return is_recurrent(c) && known == Known::ranks && c.in.size() > 4 && c.in[4] != kNone;
}

class Kernels : public ::testing::TestWithParam<std::tuple<KernelCase, Known>> {};

TEST_P(Kernels, AgreeWithTheOperatorsForm) {
  const auto& [c, known] = GetParam();
  const Built built = build(c, known);
  if (HasFailure()) return;
  SCOPED_TRACE(print(built.graph));
  const Tier0 tier(built.graph, PassSet::none());  // passes might remove the node that the kernel serves
  ASSERT_TRUE(tier);
  const Plan& plan = tier.executable->plan();
  const bool bound = std::ranges::any_of(plan.steps, [&](const Step& s) { return plan.kernel_of(s) == c.kernel; });
  EXPECT_EQ(bound, !needs_own_form(c, known)) << "which kernel serves it";
  for (int run = 0; run < 2; ++run) {
    const auto got = run_beside_reference(*tier.session, built.graph, built.inputs, sum_of(c.terms));
    EXPECT_TRUE(got) << got.error().text();
  }
}

/// "MatMul_7_Weights".
std::string kernel_case_name(const ::testing::TestParamInfo<Kernels::ParamType>& info) {
  const auto& [c, known] = info.param;
  return fmt::format("{}_{}_{}", c.op, info.index, name_of(known));
}

void add_to(std::vector<KernelCase>& all, std::initializer_list<KernelCase> cases) {
  all.insert(all.end(), cases.begin(), cases.end());
}

std::vector<KernelCase> products() {
  std::vector<KernelCase> all;
  for (const std::int64_t m : {1, 2, 5, 17}) {
    for (const std::int64_t n : {1, 3, 16, 33}) {
      for (const std::int64_t k : {0, 1, 7, 64, 130}) {
        all.push_back({"MatMul", Kernel::matmul, {{m, k}, {k, n}}, "", k});
      }
    }
  }
  add_to(all, {{"MatMul", Kernel::matmul, {{7}, {7}}, "", 7},
               {"MatMul", Kernel::matmul, {{7}, {7, 5}}, "", 7},
               {"MatMul", Kernel::matmul, {{5, 7}, {7}}, "", 7},
               {"MatMul", Kernel::matmul, {{3, 5, 7}, {7, 4}}, "", 7},
               {"MatMul", Kernel::matmul, {{5, 7}, {3, 7, 4}}, "", 7},
               {"MatMul", Kernel::matmul, {{3, 5, 7}, {3, 7, 4}}, "", 7},
               {"MatMul", Kernel::matmul, {{2, 1, 5, 7}, {3, 7, 4}}, "", 7},
               {"MatMul", Kernel::matmul, {{2, 3, 5, 7}, {1, 1, 7, 4}}, "", 7},
               {"MatMul", Kernel::matmul, {{3, 7}, {2, 7, 1}}, "", 7},
               {"MatMul", Kernel::matmul, {{0, 5, 7}, {7, 4}}, "", 7},
               {"MatMul", Kernel::matmul, {{2, 0, 7}, {7, 4}}, "", 7},
               {"MatMul", Kernel::matmul, {{1, 513}, {513, 257}}, "", 513},
               {"MatMul", Kernel::matmul, {{67, 300}, {300, 65}}, "", 300}});
  const char* transposed[] = {"", "transA = 1", "transB = 1", "transA = 1, transB = 1"};
  for (std::int64_t t = 0; t < 4; ++t) {
    const Sizes a = t & 1 ? Sizes{9, 5} : Sizes{5, 9}, b = t & 2 ? Sizes{11, 9} : Sizes{9, 11};
    all.push_back({"Gemm", Kernel::gemm, {a, b}, transposed[t], 9});
    for (const Sizes& c : {Sizes{5, 11}, Sizes{11}, Sizes{1, 11}, Sizes{5, 1}, Sizes{1}, Sizes{}}) {
      all.push_back({"Gemm", Kernel::gemm, {a, b, c}, transposed[t], 9});
    }
  }
  add_to(all, {{"Gemm", Kernel::gemm, {{5, 9}, {9, 11}, {11}}, "alpha = 0.5, beta = -2.0", 9},
               {"Gemm", Kernel::gemm, {{5, 9}, {9, 11}}, "alpha = 0.25", 9},
               {"Gemm", Kernel::gemm, {{5, 9}, {11, 9}, {5, 1}}, "alpha = 0.0, beta = 1.0, transB = 1", 9},
               {"Gemm", Kernel::gemm, {{5, 0}, {0, 3}, {3}}, "", 1},
               {"Gemm", Kernel::gemm, {{0, 5}, {5, 3}, {3}}, "", 5}});
  return all;
}

/// Products and convolutions of bytes, without zero points, with one, or with one for each row, column or channel.
std::vector<KernelCase> integer_products() {
  std::vector<KernelCase> all;
  for (const Elem elem : {Elem::i8, Elem::u8}) {
    const auto add = [&](const char* op, Kernel kernel, std::vector<Sizes> in, const char* attrs = "") {
      all.push_back({op, kernel, std::move(in), attrs, 1, 1, elem});
    };
    for (const std::int64_t m : {1, 3, 7, 20}) {
      add("MatMulInteger", Kernel::matmul, {{m, 65}, {65, 40}, {}, {}});
      add("MatMulInteger", Kernel::matmul, {{m, 64}, {64, 33}, {m}, {33}});
    }
    add("MatMulInteger", Kernel::matmul, {{5, 7}, {7, 3}});
    add("MatMulInteger", Kernel::matmul, {{5, 0}, {0, 3}, {}});
    add("MatMulInteger", Kernel::matmul, {{3, 5, 70}, {70, 32}, {1}, {1}});
    add("MatMulInteger", Kernel::matmul, {{2, 1, 5, 7}, {3, 7, 4}, kNone, {}});
    add("MatMulInteger", Kernel::matmul, {{7}, {7, 5}, {}});
    add("ConvInteger", Kernel::conv, {{2, 3, 9, 11}, {5, 3, 3, 3}}, "pads = [1, 1, 1, 1]");
    add("ConvInteger", Kernel::conv, {{2, 3, 9, 11}, {5, 3, 3, 3}, {}, {5}},
        "auto_pad = \"SAME_UPPER\", strides = [2, 3]");
    add("ConvInteger", Kernel::conv, {{1, 16, 7, 7}, {33, 16, 1, 1}, {1}, {}}, "strides = [2, 2]");
    add("ConvInteger", Kernel::conv, {{1, 16, 8, 8}, {6, 16, 1, 1}, {1}});
    add("ConvInteger", Kernel::conv, {{1, 6, 8, 7}, {6, 1, 3, 3}, {}, {6}}, "group = 6, pads = [1, 1, 1, 1]");
    add("ConvInteger", Kernel::conv, {{2, 4, 8, 8}, {8, 2, 3, 3}, {}}, "group = 2, dilations = [2, 1]");
    add("ConvInteger", Kernel::conv, {{2, 3, 20}, {4, 3, 5}, {}}, "strides = [3], pads = [2, 1]");
    add("ConvInteger", Kernel::conv, {{0, 3, 5, 5}, {4, 3, 3, 3}, {}});
    add("ConvInteger", Kernel::conv, {{1, 3, 2, 2}, {4, 3, 3, 3}, {}}, "pads = [4, 4, 4, 4]");
  }
  return all;
}

std::vector<KernelCase> convolutions() {
  std::vector<KernelCase> all;
  for (const char* attrs :
       {"", "strides = [2, 2]", "pads = [1, 1, 1, 1]", "pads = [0, 1, 2, 3]", "dilations = [2, 2]",
        "strides = [2, 1], dilations = [1, 2], pads = [1, 2, 0, 1]", "auto_pad = \"SAME_UPPER\"",
        "auto_pad = \"SAME_LOWER\"", "auto_pad = \"VALID\"", "auto_pad = \"SAME_UPPER\", strides = [2, 3]",
        "auto_pad = \"SAME_LOWER\", strides = [3, 2]", "auto_pad = \"SAME_UPPER\", dilations = [2, 2]",
        "kernel_shape = [3, 3], strides = [3, 3]", "pads = [5, 5, 5, 5]"}) {
    all.push_back({"Conv", Kernel::conv, {{2, 3, 9, 11}, {5, 3, 3, 3}, {5}}, attrs, 27});
  }
  add_to(all,
         {{"Conv", Kernel::conv, {{1, 3, 9, 9}, {8, 3, 1, 1}}, "", 3},
          {"Conv", Kernel::conv, {{2, 16, 7, 7}, {33, 16, 1, 1}, {33}}, "strides = [2, 2]", 16},
          {"Conv", Kernel::conv, {{1, 1, 5, 6}, {1, 1, 2, 3}}, "", 6},
          {"Conv", Kernel::conv, {{2, 4, 8, 8}, {6, 2, 3, 3}, {6}}, "group = 2, pads = [1, 1, 1, 1]", 18},
          {"Conv", Kernel::conv, {{1, 6, 8, 7}, {6, 1, 3, 3}, {6}}, "group = 6, pads = [1, 1, 1, 1]", 9},
          {"Conv", Kernel::conv, {{2, 16, 9, 9}, {16, 1, 3, 3}}, "group = 16, strides = [2, 2]", 9},
          {"Conv", Kernel::conv, {{1, 3, 8, 7}, {6, 1, 5, 5}, {6}}, "group = 3, pads = [2, 2, 2, 2]", 25},
          {"Conv", Kernel::conv, {{1, 4, 9, 9}, {4, 1, 3, 3}}, "group = 4, dilations = [2, 3], pads = [2, 3, 2, 3]", 9},
          {"Conv", Kernel::conv, {{1, 3, 3, 3}, {4, 3, 3, 3}, {4}}, "", 27},
          {"Conv", Kernel::conv, {{0, 3, 5, 5}, {4, 3, 3, 3}, {4}}, "", 27},
          {"Conv", Kernel::conv, {{1, 32, 17, 19}, {48, 32, 3, 3}, {48}}, "pads = [1, 1, 1, 1]", 288},
          {"Conv", Kernel::conv, {{1, 3, 64, 48}, {24, 3, 5, 5}, {24}}, "strides = [2, 2], pads = [1, 1, 2, 2]", 75},
          {"Conv", Kernel::conv, {{2, 3, 20}, {4, 3, 5}, {4}}, "", 15},
          {"Conv", Kernel::conv, {{2, 3, 20}, {4, 3, 5}}, "strides = [3], pads = [2, 1], dilations = [2]", 15},
          {"Conv", Kernel::conv, {{1, 4, 20}, {4, 2, 3}, {4}}, "group = 2, auto_pad = \"SAME_UPPER\"", 6},
          {"Conv", Kernel::conv, {{1, 1, 576}, {258, 1, 256}}, "strides = [128]", 256},
          {"Conv", Kernel::conv, {{1, 129, 4}, {128, 129, 3}, {128}}, "pads = [1, 1]", 387},
          {"Conv", Kernel::conv, {{30, 5, 4, 3}, {40, 5, 3, 2}, {40}}, "", 30},
          {"Conv", Kernel::conv, {{2, 5, 3, 4}, {33, 5, 3, 3}}, "pads = [1, 2, 0, 1], strides = [2, 3]", 45},
          {"Conv", Kernel::conv, {{1, 64, 1, 1}, {48, 64, 1, 1}, {48}}, "", 64}});
  return all;
}

std::vector<KernelCase> pools() {
  std::vector<KernelCase> all;
  const char* attrs[] = {"kernel_shape = [2, 2]",
                         "kernel_shape = [3, 3], strides = [2, 2]",
                         "kernel_shape = [3, 2], pads = [1, 0, 1, 1]",
                         "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1",
                         "kernel_shape = [2, 2], strides = [3, 3], ceil_mode = 1",
                         "kernel_shape = [3, 3], dilations = [2, 2]",
                         "kernel_shape = [3, 3], strides = [2, 2], dilations = [1, 2], pads = [1, 2, 1, 2]",
                         "kernel_shape = [3, 3], strides = [2, 2], auto_pad = \"SAME_UPPER\"",
                         "kernel_shape = [2, 2], strides = [2, 2], auto_pad = \"SAME_LOWER\"",
                         "kernel_shape = [3, 3], strides = [2, 2], auto_pad = \"VALID\""};
  for (const char* a : attrs) {
    all.push_back({"MaxPool", Kernel::max_pool, {{2, 3, 9, 10}}, a, 1});
    all.push_back({"AveragePool", Kernel::average_pool, {{2, 3, 9, 10}}, a, 9});
  }
  add_to(all,
         {{"AveragePool",
           Kernel::average_pool,
           {{1, 2, 7, 8}},
           "kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1",
           9},
          {"AveragePool",
           Kernel::average_pool,
           {{1, 2, 7, 8}},
           "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 0, 0, 1], count_include_pad = 1, ceil_mode = 1",
           9},
          {"AveragePool",
           Kernel::average_pool,
           {{1, 2, 7, 8}},
           "kernel_shape = [2, 2], auto_pad = \"SAME_UPPER\", count_include_pad = 1",
           4},
          {"AveragePool", Kernel::average_pool, {{2, 3, 21}}, "kernel_shape = [4], strides = [3], pads = [1, 2]", 4},
          {"MaxPool", Kernel::max_pool, {{2, 3, 21}}, "kernel_shape = [4], strides = [3], pads = [1, 2]", 1},
          {"MaxPool",
           Kernel::max_pool,
           {{2, 3, 21}},
           "kernel_shape = [3], dilations = [4], ceil_mode = 1, strides = [2]",
           1},
          {"MaxPool", Kernel::max_pool, {{0, 3, 8, 8}}, "kernel_shape = [2, 2]", 1},
          {"MaxPool", Kernel::max_pool, {{1, 1, 2, 2}}, "kernel_shape = [2, 2]", 1},
          {"MaxPool", Kernel::max_pool, {{1, 2, 9, 40}}, "kernel_shape = [5, 5], pads = [2, 2, 2, 2]", 1}});
  for (const Sizes& x :
       {Sizes{2, 3, 7, 5}, Sizes{1, 1, 1, 1}, Sizes{2, 3, 17}, Sizes{2, 2, 3, 4, 5}, Sizes{0, 2, 3, 3}}) {
    all.push_back({"GlobalAveragePool", Kernel::global_pool, {x}, "", 60});
    all.push_back({"GlobalMaxPool", Kernel::global_pool, {x}, "", 1});
  }
  return all;
}

/// Axes are a constant in the text of attributes: see build().
std::vector<KernelCase> reductions() {
  std::vector<KernelCase> all;
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceSumSquare"}) {
    for (const Sizes& x : {Sizes{7}, Sizes{3, 5}, Sizes{2, 3, 17}, Sizes{1, 1}, Sizes{130, 2}}) {
      all.push_back({op, Kernel::reduce, {x}, "", 260});
      all.push_back({op, Kernel::reduce, {x}, "keepdims = 0", 260});
    }
    for (const Elem elem : {Elem::i32, Elem::i64, Elem::f64}) {
      all.push_back({op, Kernel::reduce, {{3, 5}}, "keepdims = 0", 15, 1, elem});
    }
  }
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (const char* attrs : {"", "axis = 1", "axis = -1, keepdims = 0", "axis = 2, select_last_index = 1"}) {
      for (const Elem elem : {Elem::f32, Elem::f64, Elem::i32, Elem::i64, Elem::i8, Elem::u8}) {
        all.push_back({op, Kernel::arg_reduce, {{3, 4, 19}}, attrs, 1, 1, elem});
      }
    }
  }
  return all;
}

std::vector<KernelCase> norms() {
  std::vector<KernelCase> all;
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const Sizes& x : {Sizes{1}, Sizes{5}, Sizes{3, 17}, Sizes{2, 3, 33}, Sizes{0, 4}, Sizes{4, 0}, Sizes{2, 1}}) {
      all.push_back({op, Kernel::softmax, {x}, "", 20});
    }
    all.push_back({op, Kernel::softmax, {{2, 3, 8}}, "axis = 2", 20});
  }
  add_to(all, {{"LayerNormalization", Kernel::layer_norm, {{3, 17}, {17}, {17}}, "", 30},
               {"LayerNormalization", Kernel::layer_norm, {{3, 17}, {17}}, "epsilon = 0.1", 30},
               {"LayerNormalization", Kernel::layer_norm, {{2, 3, 5}, {3, 5}, {3, 5}}, "axis = 1", 30},
               {"LayerNormalization", Kernel::layer_norm, {{2, 3, 5}, {2, 3, 5}, {2, 3, 5}}, "axis = 0", 60},
               {"LayerNormalization", Kernel::layer_norm, {{2, 3, 64}, {64}, {64}}, "axis = -1", 100},
               {"LayerNormalization", Kernel::layer_norm, {{2, 3, 5}, {5}, {5}}, "", 30, 3},
               {"LayerNormalization", Kernel::layer_norm, {{0, 5}, {5}, {5}}, "", 30},
               {"BatchNormalization", Kernel::batch_norm, {{2, 3, 4, 5}, {3}, {3}, {3}, {3}}, "", 10},
               {"BatchNormalization", Kernel::batch_norm, {{2, 3, 17}, {3}, {3}, {3}, {3}}, "epsilon = 0.01", 10},
               {"BatchNormalization", Kernel::batch_norm, {{4, 7}, {7}, {7}, {7}, {7}}, "", 10},
               {"BatchNormalization", Kernel::batch_norm, {{0, 3, 4}, {3}, {3}, {3}, {3}}, "", 10}});
  return all;
}

/// LSTM and GRU with every combination of optional inputs, for one direction or two.
void add_recurrent(std::vector<KernelCase>& all, bool lstm, std::int64_t directions, const char* attrs) {
  constexpr std::int64_t kSteps = 6, kBatch = 3, kIn = 5, kHidden = 7;
  const std::int64_t d = directions, gates = lstm ? 4 : 3;
  const Sizes x{kSteps, kBatch, kIn}, w{d, gates * kHidden, kIn}, r{d, gates * kHidden, kHidden};
  const Sizes b{d, 2 * gates * kHidden}, lens{kBatch}, state{d, kBatch, kHidden}, peep{d, 3 * kHidden};
  const char* op = lstm ? "LSTM" : "GRU";
  const Kernel kernel = lstm ? Kernel::lstm : Kernel::gru;
  const std::size_t outputs = lstm ? 3 : 2;
  add_to(all, {{op, kernel, {x, w, r}, attrs, 40, outputs},
               {op, kernel, {x, w, r, b}, attrs, 40, outputs},
               {op, kernel, {x, w, r, b, lens}, attrs, 40, outputs},
               {op, kernel, {x, w, r, b, kNone, state}, attrs, 40, outputs},
               {op, kernel, {x, w, r, kNone, lens, state}, attrs, 40, outputs},
               {op, kernel, {{1, 1, kIn}, w, r, b, kNone, {d, 1, kHidden}}, attrs, 40, outputs},
               {op, kernel, {{0, kBatch, kIn}, w, r, b, kNone, state}, attrs, 40, outputs}});
  if (!lstm) return;
  add_to(all, {{op, kernel, {x, w, r, b, kNone, state, state, peep}, attrs, 40, outputs},
               {op, kernel, {x, w, r, b, lens, state, state, peep}, attrs, 40, outputs},
               {op, kernel, {x, w, r, kNone, kNone, kNone, kNone, peep}, attrs, 40, outputs}});
}

std::vector<KernelCase> recurrences() {
  std::vector<KernelCase> all;
  for (const bool lstm : {true, false}) {
    add_recurrent(all, lstm, 1, "hidden_size = 7");
    add_recurrent(all, lstm, 1, "hidden_size = 7, direction = \"reverse\"");
    add_recurrent(all, lstm, 2, "hidden_size = 7, direction = \"bidirectional\"");
    add_recurrent(all, lstm, 1, "hidden_size = 7, clip = 0.5");
  }
  add_recurrent(all, false, 1, "hidden_size = 7, linear_before_reset = 1");
  add_recurrent(all, false, 2, "hidden_size = 7, linear_before_reset = 1, direction = \"bidirectional\"");
  const Sizes x{3, 6, 5}, state{3, 1, 7};
  add_to(all, {{"LSTM", Kernel::lstm, {x, {1, 28, 5}, {1, 28, 7}, {1, 56}, kNone, state, state}, "layout = 1", 40, 3},
               {"LSTM", Kernel::lstm, {x, {1, 28, 5}, {1, 28, 7}, {1, 56}, {3}, state, state}, "layout = 1", 40, 3},
               {"GRU", Kernel::gru, {x, {1, 21, 5}, {1, 21, 7}, {1, 42}, kNone, state}, "layout = 1", 40, 2},
               {"LSTM", Kernel::lstm, {{2, 1, 128}, {1, 512, 128}, {1, 512, 128}, {1, 1024}}, "", 256, 3}});
  return all;
}

const auto kVariants = ::testing::Values(Known::extents, Known::weights, Known::ranks);
#define FRAZIL_KERNEL_CASES(Name, cases) \
  INSTANTIATE_TEST_SUITE_P(Name, Kernels, ::testing::Combine(::testing::ValuesIn(cases()), kVariants), kernel_case_name)
FRAZIL_KERNEL_CASES(Products, products);
FRAZIL_KERNEL_CASES(IntegerProducts, integer_products);
FRAZIL_KERNEL_CASES(Convolutions, convolutions);
FRAZIL_KERNEL_CASES(Pools, pools);
FRAZIL_KERNEL_CASES(Reductions, reductions);
FRAZIL_KERNEL_CASES(Norms, norms);
FRAZIL_KERNEL_CASES(Recurrences, recurrences);
#undef FRAZIL_KERNEL_CASES

struct AxesCase {
  const char* axes;
  const char* attrs;
  bool kernel;  ///< adjacent axes have a kernel
};

TEST(KernelAxes, ReductionsOverChosenAxes) {
  const AxesCase cases[] = {{"i64[1] 0", "", true},
                            {"i64[1] 1", "keepdims = 0", true},
                            {"i64[1] -1", "", true},
                            {"i64[2] [1, 2]", "keepdims = 0", true},
                            {"i64[2] [2, 1]", "", true},
                            {"i64[2] [0, -1]", "", false},
                            {"i64[4] [0, 1, 2, 3]", "", true},
                            {"i64[2] [1, 3]", "keepdims = 0", false},
                            {"i64[0] []", "", true},
                            {"i64[0] []", "noop_with_empty_axes = 1", false}};
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                         "ReduceSumSquare", "ReduceL2", "ReduceLogSumExp"}) {
    for (const AxesCase& c : cases) {
      const Graph graph = graph_of(fmt::format("graph g(%x: f32[A,3,5,B]) {{\n  %y = {}(%x, {}){}\n  return y = %y\n}}",
                                               op, c.axes, in_braces(c.attrs)));
      for (const Sizes& x : {Sizes{2, 3, 5, 9}, Sizes{1, 3, 5, 1}, Sizes{4, 3, 5, 33}}) {
        SCOPED_TRACE(print(graph));
        EXPECT_TRUE(run_tiers(graph, {numbered_tensor(Elem::f32, x, 0)}, sum_of(2000)));
      }
    }
  }
}

}  // namespace
}  // namespace frazil::test
