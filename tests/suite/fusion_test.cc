#include <algorithm>
#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/tiers.h"

// Fused nodes have the same bits as separate ones, and the plan reports what is fused and what is rejected.
namespace frazil::test {
namespace {

using ::testing::Contains;
using ::testing::StrEq;

std::shared_ptr<Executable> made_with(const Graph& graph, PassSet passes) {
  auto made = Executable::make(std::make_shared<const Graph>(graph), {.passes = passes, .verify = 1});
  if (made) return *made;
  ADD_FAILURE() << made.error().text();
  return nullptr;
}

/// The kernel of a step with a body; null for other steps, and for a product stored without further operations.
const FusedKernel* body_of(const Plan& plan, const Step& step) {
  const auto* launch = step.as<step::Launch>();
  if (launch == nullptr || launch->fused == kNone) return nullptr;
  const FusedKernel& kernel = *plan.fused[launch->fused];
  return kernel.producer && kernel.body.size() == 1 && kernel.stores.size() == 1 ? nullptr : &kernel;
}

std::vector<const Step*> steps_with_body(const Plan& plan) {
  std::vector<const Step*> steps;
  for (const Step& step : plan.steps) {
    if (body_of(plan, step) != nullptr) steps.push_back(&step);
  }
  return steps;
}

/// The matrix products of a plan.
std::vector<const Step*> product_steps(const Plan& plan) {
  std::vector<const Step*> steps;
  for (const Step& step : plan.steps) {
    const auto kernel = plan.kernel_of(step);
    if (kernel == Kernel::matmul || kernel == Kernel::gemm) steps.push_back(&step);
  }
  return steps;
}

/// Text of a random graph over %x[N,M], %t[M,N], %r[N,1], %v[M] and %s[]: elementwise nodes, folds and softmax along
/// the last axis, and sometimes a product.
class RandomText {
 public:
  explicit RandomText(unsigned seed) : random_(seed) {}

  std::string str() {
    add("Transpose(%t) {perm = [1, 0]}", full_);
    const int nodes = 4 + pick(24);
    for (int i = 0; i < nodes; ++i) node();
    std::string text =
        "graph g(%x: f32[N,M], %t: f32[M,N], %r: f32[N,1], %v: f32[M], %s: f32[], %w: f32[M,M]) {\n" + body_;
    text += fmt::format("  return y = {}", full_.back());
    for (int i = 0; i < count_; ++i) {
      if (pick(5) == 0) text += fmt::format(", y{} = %{}", i, i);
    }
    return text + "\n}\n";
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  const std::string& one_of(const std::vector<std::string>& list) { return list[random_() % list.size()]; }

  void add(const std::string& call, std::vector<std::string>& kind) {
    body_ += fmt::format("  %{} = {}\n", count_, call);
    kind.push_back(fmt::format("%{}", count_++));
  }

  void node() {
    switch (pick(8)) {
      case 0: return add(fmt::format("{}({}, i64[1] [-1])", one_of(folds_), one_of(full_)), rows_);
      case 1: return add(fmt::format("Softmax({})", one_of(full_)), full_);
      case 2: return pick(3) == 0 ? add(fmt::format("MatMul({}, %w)", one_of(full_)), full_) : node();
      case 3: return add(fmt::format("{}({})", one_of(unary_), one_of(rows_)), rows_);
      case 4: return add(fmt::format("{}({})", one_of(unary_), one_of(full_)), full_);
      case 5: return add(fmt::format("{}({}, {})", one_of(binary_), one_of(rows_), one_of(rows_)), rows_);
      default: return add(fmt::format("{}({}, {})", one_of(binary_), one_of(full_), other()), full_);
    }
  }

  std::string other() {
    switch (pick(5)) {
      case 0: return one_of(rows_);
      case 1: return pick(2) == 0 ? "%v" : "%s";
      case 2: return pick(2) == 0 ? "f32[] -0.0" : "f32[] 1.5";
      default: return one_of(full_);
    }
  }

  std::mt19937 random_;
  std::string body_;
  int count_ = 0;
  std::vector<std::string> full_{"%x"}, rows_{"%r"};
  const std::vector<std::string> unary_{"Neg", "Abs", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Erf", "Floor"};
  const std::vector<std::string> binary_{"Add", "Sub", "Mul", "Div", "Max", "Min"};
  const std::vector<std::string> folds_{"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare"};
};

Datum random_datum(std::mt19937& random, Sizes sizes) {
  Tensor t = *Tensor::make(Elem::f32, std::move(sizes));
  auto* data = reinterpret_cast<float*>(t.mutable_data());
  for (std::int64_t i = 0; i < t.count(); ++i) data[i] = static_cast<float>(static_cast<int>(random() % 65) - 32) / 8;
  return Datum(std::move(t));
}

/// As above over %x[N,C,H,W], with convolutions, products and nodes combined with them.
class RandomProducts {
 public:
  explicit RandomProducts(unsigned seed) : random_(seed) {}

  std::string str() {
    const int nodes = 3 + pick(14);
    for (int i = 0; i < nodes; ++i) node();
    std::string text =
        "graph g(%x: f32[N,4,H,W], %p: f32[4,4,1,1], %c: f32[4,4,3,3], %d: f32[4,1,3,3], %w: f32[W,W], %v: f32[4,1,1], "
        "%q: f32[N,1,1,1], %r: f32[H,1], %l: f32[W], %s: f32[]) {\n" +
        body_;
    text += fmt::format("  return y = %{}", count_ - 1);
    for (int i = 0; i < count_ - 1; ++i) {
      if (pick(5) == 0) text += fmt::format(", y{} = %{}", i, i);
    }
    return text + "\n}\n";
  }

  static std::vector<Datum> inputs(std::mt19937& random, std::int64_t n, std::int64_t h, std::int64_t w) {
    return {random_datum(random, {n, 4, h, w}), random_datum(random, {4, 4, 1, 1}),
            random_datum(random, {4, 4, 3, 3}), random_datum(random, {4, 1, 3, 3}),
            random_datum(random, {w, w}),       random_datum(random, {4, 1, 1}),
            random_datum(random, {n, 1, 1, 1}), random_datum(random, {h, 1}),
            random_datum(random, {w}),          random_datum(random, {})};
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  /// One of the last values, so that products are combined with other nodes.
  std::string recent() { return count_ == 0 ? "%x" : fmt::format("%{}", count_ - 1 - pick(std::min(count_, 3))); }
  std::string other() {
    const char* const all[] = {"%x", "%v", "%q", "%r", "%l", "%s", "f32[] 0.5"};
    const int k = pick(10);
    return k < 7 ? all[k] : recent();
  }
  std::string call() {
    const char* const unary[] = {"Relu", "LeakyRelu", "Neg", "Sigmoid", "Abs", "Softmax"};
    const char* const binary[] = {"Add", "Sub", "Mul", "Max"};
    switch (pick(9)) {
      case 0: return fmt::format("Conv({}, %p)", recent());
      case 1: return fmt::format("Conv({}, %c) {{pads = [1, 1, 1, 1]}}", recent());
      case 2: return fmt::format("Conv({}, %d) {{pads = [1, 1, 1, 1], group = 4}}", recent());
      case 3: return fmt::format("MatMul({}, %w)", recent());
      case 4: return fmt::format("{}({})", unary[pick(6)], recent());
      case 5: return fmt::format("{}({}, {})", binary[pick(4)], other(), recent());
      default: return fmt::format("{}({}, {})", binary[pick(4)], recent(), other());
    }
  }
  void node() {
    const std::string made = call();  // uses only the previous values
    body_ += fmt::format("  %{} = {}\n", count_++, made);
  }

  std::mt19937 random_;
  std::string body_;
  int count_ = 0;
};

/// As above over %x[A,N,K], with products by constants that map between rows of 3 and rows of K.
class RandomRows {
 public:
  RandomRows(unsigned seed, int k) : random_(seed), k_(k) {}

  std::string str() {
    for (int i = 6 + pick(10); i > 0; --i) node();
    std::string text =
        fmt::format("graph g(%x: f32[A,N,{0}], %l: f32[{0}], %r: f32[N,1], %q: f32[A,1,1], %s: f32[]) {{\n", k_) +
        body_;
    text += fmt::format("  return y = %{}", wide_.size() + narrow_.size() - 2);
    for (const std::string& v : narrow_) {
      if (pick(4) == 0) text += fmt::format(", y{} = {}", v.substr(1), v);
    }
    return text + "\n}\n";
  }

  static std::vector<Datum> inputs(std::mt19937& random, std::int64_t a, std::int64_t n, std::int64_t k) {
    return {random_datum(random, {a, n, k}), random_datum(random, {k}), random_datum(random, {n, 1}),
            random_datum(random, {a, 1, 1}), random_datum(random, {})};
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string weight(int rows, int cols) {
    std::string text = fmt::format("f32[{},{}] [", rows, cols);
    for (int i = 0; i < rows; ++i) {
      text += i == 0 ? "[" : ", [";
      for (int j = 0; j < cols; ++j) text += fmt::format("{}{}", j == 0 ? "" : ", ", (pick(17) - 8) / 8.0);
      text += "]";
    }
    return text + "]";
  }
  std::string call(const std::vector<std::string>& values, bool wide) {
    const char* const unary[] = {"Relu", "LeakyRelu", "Tanh", "Abs", "Softmax"};
    const char* const binary[] = {"Add", "Sub", "Mul", "Max"};
    const char* const others[] = {"%r", "%q", "%s", "f32[] 0.5", "%l"};
    const std::string& v = values.back();
    switch (pick(5)) {
      case 0: return fmt::format("{}({})", unary[pick(5)], v);
      case 1: return wide ? fmt::format("LayerNormalization({}, %l)", v) : fmt::format("{}({})", unary[pick(5)], v);
      case 2: return fmt::format("{}({}, {})", binary[pick(4)], values[values.size() - 1 - pick(2) % values.size()], v);
      default: return fmt::format("{}({}, {})", binary[pick(4)], v, others[pick(wide ? 5 : 4)]);
    }
  }
  void node() {
    const bool from_wide = narrow_.empty() || pick(3) != 0, product = pick(3) == 0;
    auto &from = from_wide ? wide_ : narrow_, &to = from_wide != product ? wide_ : narrow_;
    const int rows = from_wide ? k_ : 3, cols = from_wide ? 3 : k_;
    const std::string made =
        product ? fmt::format("MatMul({}, {})", from.back(), weight(rows, cols)) : call(from, from_wide);
    const std::string name = fmt::format("%{}", wide_.size() + narrow_.size() - 1);
    body_ += fmt::format("  {} = {}\n", name, made);
    to.push_back(name);
  }

  std::mt19937 random_;
  int k_;
  std::string body_;
  std::vector<std::string> wide_{"%x"}, narrow_;
};

std::vector<Datum> random_inputs_of(std::mt19937& random, std::int64_t n, std::int64_t m) {
  return {random_datum(random, {n, m}), random_datum(random, {m, n}), random_datum(random, {n, 1}),
          random_datum(random, {m}),    random_datum(random, {}),     random_datum(random, {m, m})};
}

void expect_same_bits(const std::vector<Datum>& a, const std::vector<Datum>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = a[i].tensor().as<float>(), y = b[i].tensor().as<float>();
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (x[k] != x[k] && y[k] != y[k]) continue;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(x[k]), std::bit_cast<std::uint32_t>(y[k]))
          << "result " << i << " at " << k << ": " << x[k] << " and " << y[k];
    }
  }
}

class RandomGraphs : public ::testing::TestWithParam<unsigned> {};

/// Runs both on the same sessions, one request after the other.
void expect_same_bits(const std::string& text, const std::vector<std::vector<Datum>>& requests) {
  SCOPED_TRACE(text);
  const Graph graph = graph_of(text);
  const auto fused = made_with(graph, PassSet::only(Pass::fuse)), apart = made_with(graph, PassSet::none());
  ASSERT_TRUE(fused && apart);
  const auto a = fused->open(), b = apart->open();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto x = a->run(requests[i]), y = b->run(requests[i]);
    ASSERT_TRUE(x) << x.error().text();
    ASSERT_TRUE(y) << y.error().text();
    SCOPED_TRACE(fmt::format("request {}", i));
    ASSERT_NO_FATAL_FAILURE(expect_same_bits(*x, *y));
  }
}

constexpr unsigned kEach = 25;

TEST_P(RandomGraphs, GiveTheSameBitsInSharedSteps) {
  for (unsigned seed = GetParam() * kEach; seed < (GetParam() + 1) * kEach; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::vector<Datum>> requests;
    for (const auto& [n, m] : {std::pair{3, 40}, {1, 1}, {5, 7}, {2, 1100}, {1, 33}, {0, 4}, {4, 1}})
      requests.push_back(random_inputs_of(random, n, m));
    ASSERT_NO_FATAL_FAILURE(expect_same_bits(RandomText(seed).str(), requests));
  }
}

TEST_P(RandomGraphs, GiveTheSameBitsBehindProducts) {
  for (unsigned seed = GetParam() * kEach; seed < (GetParam() + 1) * kEach; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::vector<Datum>> requests;
    for (const auto& [n, h, w] :
         {std::tuple{2, 6, 9}, {1, 1, 1}, {3, 40, 70}, {1, 1, 300}, {2, 9, 1}, {1, 0, 4}, {1, 2, 2}})
      requests.push_back(RandomProducts::inputs(random, n, h, w));
    ASSERT_NO_FATAL_FAILURE(expect_same_bits(RandomProducts(seed).str(), requests));
  }
}

TEST_P(RandomGraphs, GiveTheSameBitsInFrontOfProducts) {
  for (unsigned seed = GetParam() * kEach; seed < (GetParam() + 1) * kEach; ++seed) {
    std::mt19937 random(seed);
    const int k = std::array{5, 30, 520}[seed % 3];
    std::vector<std::vector<Datum>> requests;
    for (const auto& [a, n] : {std::pair{2, 3}, {1, 1}, {3, 90}, {0, 2}, {1, 13}, {2, 0}, {1, 260}})
      requests.push_back(RandomRows::inputs(random, a, n, k));
    ASSERT_NO_FATAL_FAILURE(expect_same_bits(RandomRows(seed, k).str(), requests));
  }
}

INSTANTIATE_TEST_SUITE_P(Fusion, RandomGraphs, ::testing::Range(0U, 8U));

struct Shared {
  const char* what;
  const char* text;
  std::vector<std::size_t> members;  ///< of each step with a body, in order
  std::vector<const char*> why_not = {};
};

const Shared kShared[] = {
    {"a chain", "graph g(%x: f32[N]) { %a = Neg(%x) %b = Exp(%a) %c = Add(%b, %x) return c = %c }", {3}},
    {"branches that meet",
     "graph g(%x: f32[N,M], %y: f32[M]) { %a = Neg(%x) %b = Exp(%x) %c = Mul(%b, %y) %d = Add(%a, %c) return d = %d }",
     {4}},
    {"folds and what follows along the same rows",
     "graph g(%x: f32[N,M]) { %m = ReduceMean(%x, i64[1] [-1]) %d = Sub(%x, %m) %e = Exp(%d) "
     "%s = ReduceSum(%e, i64[1] [1]) %y = Div(%e, %s) return y = %y }",
     {5}},
    {"a normalisation with the residual before it",
     "graph g(%x: f32[N,64], %r: f32[N,64], %s: f32[64], %b: f32[64]) { %a = Add(%x, %r) "
     "%n = LayerNormalization(%a, %s, %b) %y = Relu(%n) return a = %a, y = %y }",
     {3}},
    {"extents that may differ",
     "graph g(%x: f32[N], %y: f32[M]) { %a = Neg(%x) %b = Add(%a, %y) return b = %b }",
     {1, 1},
     {"their extents are not provably the same"}},
    {"extents that were broadcast together before",
     "graph g(%x: f32[N], %y: f32[M]) { %a = Add(%x, %y) %b = Mul(%a, %y) %c = Sub(%x, %b) return c = %c }",
     {3}},
    {"a value of 16 bits, which is rounded between them",
     "graph g(%x: f16[N]) { %a = Neg(%x) %b = Exp(%a) %c = Abs(%b) return c = %c }",
     {3}},
    {"a value of a narrower type",
     "graph g(%x: f8e5m2[N]) { %a = Cast(%x) {to = f32} %b = Cast(%a) {to = f8e5m2} %c = Cast(%b) {to = f32} return c "
     "= %c }",
     {2, 1},
     {"the value between them is rounded to a narrower type"}},
    {"a product that needs the first one's value",
     "graph g(%x: f32[N,N]) { %a = Neg(%x) %m = MatMul(%a, %a) %b = Abs(%a) %c = Add(%b, %m) return c = %c }",
     {1, 3},
     {"a node between them uses the first one's result"}},
    {"a product and what works on its result",
     "graph g(%x: f32[N,K], %w: f32[K,M], %b: f32[M]) { %p = MatMul(%x, %w) %a = Add(%p, %b) %y = Softmax(%a) "
     "return y = %y }",
     {3}},
    {"a convolution, its residual and a normal product's bias",
     "graph g(%x: f32[N,3,H,W], %w: f32[3,3,3,3], %b: f32[3,1,1]) { %p = Conv(%x, %w) {pads = [1, 1, 1, 1]} "
     "%a = Add(%p, %b) %r = Add(%a, %x) %y = Relu(%r) return y = %y }",
     {4}},
    {"two products that meet",
     "graph g(%x: f32[N,N], %y: f32[N,N]) { %p = MatMul(%x, %y) %q = MatMul(%y, %x) %s = Mul(%p, %q) return s = %s }",
     {2},
     {"a step holds one product, and what works on its result"}},
    {"a product whose result is broadcast",
     "graph g(%x: f32[1,N], %y: f32[N,N]) { %p = MatMul(%x, %y) %s = Add(%p, %y) return s = %s }",
     {1},
     {"their extents are not provably the same"}},
    {"rows of two",
     "graph g(%x: f32[N,2]) { %a = Neg(%x) %m = Softmax(%a) return m = %m }",
     {1},
     {"rows of so few elements do not pay"}},
};

TEST(Fusion, TellsWhatSharesAStep) {
  for (const Shared& c : kShared) {
    SCOPED_TRACE(c.what);
    const auto made = made_with(graph_of(c.text), PassSet::only(Pass::fuse));
    ASSERT_TRUE(made);
    std::vector<std::size_t> members;
    for (const Step* step : steps_with_body(made->plan()))
      members.push_back(std::max<std::size_t>(step->members.size(), 1));
    EXPECT_EQ(members, c.members) << made->plan().str();
    EXPECT_EQ(made->plan().rejections.empty(), c.why_not.empty()) << made->plan().str();
    for (const char* why : c.why_not) {
      EXPECT_THAT(made->plan().rejections, Contains(::testing::Field(&Plan::Rejection::why, StrEq(why))));
    }
  }
}

/// Operands of each matrix product, and instructions of the body that runs on its result.
std::vector<std::pair<std::size_t, std::size_t>> products_of(const char* text) {
  const auto made = made_with(graph_of(text), PassSet::only(Pass::fuse));
  std::vector<std::pair<std::size_t, std::size_t>> list;
  for (const Step* step : product_steps(made->plan())) {
    const FusedKernel* kernel = body_of(made->plan(), *step);
    list.emplace_back(step->as<step::Launch>()->in.size(), kernel == nullptr ? 0 : kernel->body.size());
  }
  return list;
}

TEST(Fusion, LeavesRowsAndRectifiersToTheProduct) {
  using ::testing::ElementsAre, ::testing::Pair;
  EXPECT_THAT(products_of("graph g(%x: f32[N,K], %w: f32[K,M], %c: f32[M]) { %p = MatMul(%x, %w) %s = Add(%p, %c) "
                          "%q = MatMul(%s, %w) %t = Add(%c, %q) %y = Relu(%t) return y = %y }"),
              ElementsAre(Pair(3, 0), Pair(3, 0)));
  EXPECT_THAT(products_of("graph g(%x: f32[N,K], %w: f32[K,M], %c: f32[M]) { %p = MatMul(%x, %w) %r = Relu(%p) "
                          "%q = Gemm(%r, %w, %c) %s = Relu(%q) %n = Neg(%s) return y = %n }"),
              ElementsAre(Pair(2, 0), Pair(3, 2)));
  EXPECT_THAT(products_of("graph g(%x: f32[N,K], %w: f32[K,M], %c: f32[M]) { %p = MatMul(%x, %w) %r = LeakyRelu(%p) "
                          "%q = Gemm(%r, %w, %c) {alpha = 0.5} %y = LeakyRelu(%q) {alpha = 0.2} return y = %y }"),
              ElementsAre(Pair(2, 0), Pair(3, 0)));
  EXPECT_THAT(products_of("graph g(%x: f32[N,K], %w: f32[K,M], %c: f32[M]) { %p = MatMul(%x, %w) %s = Add(%p, %c) "
                          "%r = Relu(%s) return s = %s, r = %r }"),
              ElementsAre(Pair(3, 3)));
}

/// Members of the prologue of each product.
std::vector<std::size_t> prologue_of(const char* text) {
  const auto made = made_with(graph_of(text), PassSet::only(Pass::fuse));
  std::vector<std::size_t> list;
  const Plan& plan = made->plan();
  for (const Step* step : product_steps(plan)) {
    const std::uint32_t fused = step->as<step::Launch>()->fused;
    const bool has_prologue = fused != kNone && plan.fused[fused]->producer->prologue != nullptr;
    list.push_back(has_prologue ? step->members.size() - 1 : 0);
  }
  return list;
}

TEST(Fusion, MakesTheRowsOfAProductBlockByBlock) {
  using ::testing::ElementsAre;
  EXPECT_THAT(prologue_of("graph g(%x: f32[N,2], %c: f32[2]) { %a = Add(%x, %c) %b = Relu(%a) "
                          "%y = MatMul(%b, f32[2,1] [[1], [2]]) return y = %y }"),
              ElementsAre(2));
  EXPECT_THAT(prologue_of("graph g(%x: f32[A,B,2], %c: f32[B,1]) { %a = Add(%x, %c) "
                          "%y = MatMul(%a, f32[2,1] [[1], [2]]) %z = Neg(%y) return z = %z }"),
              ElementsAre(2));
  EXPECT_THAT(prologue_of("graph g(%x: f32[N,2]) { %a = Neg(%x) %y = Gemm(%a, f32[1,2] [[1, 2]]) {transB = 1} "
                          "%z = Neg(%y) %w = MatMul(%z, f32[1,1] [[3]]) return w = %w }"),
              ElementsAre(2, 0));
  const char* const alone[] = {
      "graph elsewhere(%x: f32[N,2]) { %a = Neg(%x) %y = MatMul(%a, f32[2,1] [[1], [2]]) return a = %a, y = %y }",
      "graph no_constant(%x: f32[N,2], %w: f32[2,1]) { %a = Neg(%x) %y = MatMul(%a, %w) return y = %y }",
      "graph columns(%x: f32[1,N]) { %a = Neg(%x) %y = Gemm(%a, f32[1,2] [[1, 2]]) {transA = 1} return y = %y }",
      "graph short_rows(%x: f32[N,2]) { %a = Softmax(%x) %y = MatMul(%a, f32[2,1] [[1], [2]]) return y = %y }",
      "graph vector(%x: f32[2]) { %a = Neg(%x) %y = MatMul(%a, f32[2,1] [[1], [2]]) return y = %y }",
      "graph other_side(%x: f32[2,N]) { %a = Neg(%x) %y = MatMul(f32[1,2] [[1, 2]], %a) return y = %y }"};
  for (const char* text : alone) EXPECT_THAT(prologue_of(text), ElementsAre(0)) << text;
}

TEST(Fusion, CutsChainsThatAreTooLongForAStep) {
  std::string text = "graph g(%x: f32[N]) {\n  %0 = Neg(%x)\n";
  constexpr int kNodes = 400;
  for (int i = 1; i < kNodes; ++i) text += fmt::format("  %{} = {}(%{})\n", i, i % 2 == 0 ? "Neg" : "Abs", i - 1);
  const Graph graph = graph_of(text + fmt::format("  return y = %{}\n}}\n", kNodes - 1));
  const auto made = made_with(graph, PassSet::only(Pass::fuse));
  ASSERT_TRUE(made);
  EXPECT_EQ(steps_with_body(made->plan()).size(), 7U);  // a load and an operation each; at most 128 per kernel
  const auto y = made->open()->run(in_order(graph, "%x = f32[2] [3, -4]"));
  ASSERT_TRUE(y) << y.error().text();
  EXPECT_THAT((*y)[0].tensor().as<float>(), ::testing::ElementsAre(3, 4));
}

TEST(Fusion, LeavesRoomForTheResultOfAProduct) {
  constexpr int kResults = 40;  // none of which can overwrite it
  std::string text = "graph g(%x: f32[N,K], %w: f32[K,M]) {\n  %p = MatMul(%x, %w)\n", list;
  for (int i = 0; i < kResults; ++i) {
    text += fmt::format("  %{} = Greater(%p, f32[] {})\n", i, i);
    list += fmt::format("{}y{} = %{}", i == 0 ? "" : ", ", i, i);
  }
  const Graph graph = graph_of(text + "  return " + list + "\n}\n");
  const auto made = made_with(graph, PassSet::only(Pass::fuse));
  ASSERT_TRUE(made);
  for (const Step* step : steps_with_body(made->plan()))
    EXPECT_LE(step->as<step::Launch>()->out.size(), kMaxFusedStores);
  const auto y = made->open()->run(in_order(graph, "%x = f32[1,1] [[3]], %w = f32[1,2] [[1, 10]]"));
  ASSERT_TRUE(y) << y.error().text();
  for (int i = 0; i < kResults; ++i) {
    EXPECT_THAT((*y)[static_cast<std::size_t>(i)].tensor().as<bool>(), ::testing::ElementsAre(3 > i, 30 > i));
  }
}

}  // namespace
}  // namespace frazil::test
