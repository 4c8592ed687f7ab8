#include "plan/analyse/cost.h"

#include <gtest/gtest.h>

#include "suite/tiers.h"

// FLOPs and bytes come from the forms of operators, with the extents of the run.
namespace frazil::test {
namespace {

/// Sums the costs of the kernel steps of a run.
class CostObserver : public exec::Observer {
 public:
  void run_begin(const Plan& plan, std::span<const std::int64_t> registers) override {
    plan_ = &plan;
    registers_ = registers;
    costs_.emplace(plan);
  }
  void step_end(const Step& step, NodeId) override {
    const Cost cost = costs_->of(static_cast<std::uint32_t>(&step - plan_->steps.data()), registers_);
    all.flops += cost.flops;
    all.read += cost.read;
    all.written += cost.written;
    all.flops_known &= cost.flops_known;
  }
  Cost all;

 private:
  const Plan* plan_ = nullptr;
  std::span<const std::int64_t> registers_;
  std::optional<Costs> costs_;
};

Tensor zeros_of(Elem elem, const Sizes& sizes) {
  Tensor t = Tensor::make(elem, sizes).value();
  std::fill_n(t.mutable_data(), t.bytes(), std::byte{});
  return t;
}

/// The cost of one run with zeros of the given extents as inputs.
Cost cost_of(const char* text, const std::vector<Sizes>& extents) {
  const Graph graph = graph_of(text);
  std::vector<Datum> inputs;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    inputs.emplace_back(zeros_of(graph.type(graph.main().params[i]).elem, extents[i]));
  }
  const Tier0 tier(graph);
  CostObserver costs;
  if (!tier) return {};
  tier.session->set_observer(&costs);
  const auto outputs = tier.session->run(inputs);
  EXPECT_TRUE(outputs) << outputs.error().text();
  return costs.all;
}

struct CostRow {
  const char* text;
  std::vector<Sizes> inputs;
  double flops, read, written;
};

TEST(Cost, OneOperator) {
  const CostRow rows[] = {
      // The body's instructions per element of the result; a broadcast operand is read once.
      {"graph g(%x: f32[N,M], %b: f32[M]) { %y = Add(%x, %b) return y = %y }", {{3, 5}, {5}}, 15, 80, 60},
      {"graph g(%x: f64[N]) { %y = Mul(%x, %x) return y = %y }", {{7}}, 7, 56, 56},
      {"graph g(%x: f32[N]) { %y = Cast(%x) {to = f64} return y = %y }", {{7}}, 0, 28, 56},
      // A multiplication and an addition per point of the space.
      {"graph g(%a: f32[N,K], %b: f32[K,M]) { %y = MatMul(%a, %b) return y = %y }", {{2, 3}, {3, 5}}, 60, 84, 40},
      {"graph g(%a: i32[B,2,3], %b: i32[3,5]) { %y = MatMul(%a, %b) return y = %y }",
       {{4, 2, 3}, {3, 5}},
       240,
       156,
       160},
      {"graph g(%x: f32[1,4,8,8], %w: f32[6,2,3,3]) { %y = Conv(%x, %w) {group = 2} return y = %y }",
       {{1, 4, 8, 8}, {6, 2, 3, 3}},
       2.0 * 6 * 6 * 6 * 2 * 9,
       4.0 * (256 + 108),
       4.0 * 216},
      {"graph g(%x: f32[N,M]) { %y = ReduceMax(%x, i64[1] [1]) {keepdims = 0} return y = %y }",
       {{3, 5}},
       15,
       60 + 8,
       12},
      // Nodes that do not run cost nothing.
      {"graph g(%x: f32[N,M]) { %y = MatMul(%x, f32[2,2] [1, 0, 0, 1]) return y = %y }", {{0, 2}}, 0, 16, 0},
  };
  for (const CostRow& row : rows) {
    const Cost cost = cost_of(row.text, row.inputs);
    EXPECT_EQ(cost.flops, row.flops) << row.text;
    EXPECT_EQ(cost.read, row.read) << row.text;
    EXPECT_EQ(cost.written, row.written) << row.text;
    EXPECT_TRUE(cost.flops_known) << row.text;
  }
}

/// A composite has the cost of its body, whether a kernel or the body runs.
TEST(Cost, Composites) {
  const Cost cost = cost_of("graph g(%x: f32[N,8]) { %y = Softmax(%x) return y = %y }", {{4, 8}});
  EXPECT_EQ(cost.flops, 5 * 32);  // maximum, difference, exponential, sum, quotient
  EXPECT_EQ(cost.written, 4 * 32);
  constexpr const char* kLstm = R"(graph g(%x: f32[T,B,3], %w: f32[1,16,3], %r: f32[1,16,4]) {
    %y, %h, %c = LSTM(%x, %w, %r) {hidden_size = 4} return y = %y })";
  const double products = 2.0 * 16 * (3 + 4);  // for each step and row of a batch
  const auto flops = [](std::int64_t steps) { return cost_of(kLstm, {{steps, 1, 3}, {1, 16, 3}, {1, 16, 4}}).flops; };
  const double one = flops(2) - flops(1);
  EXPECT_GT(one, products);
  EXPECT_LT(one, 2 * products);
  EXPECT_EQ(flops(5) - flops(1), 4 * one);
}

/// Extents changed by a loop are those of each iteration.
TEST(Cost, GrowingLoops) {
  constexpr const char* kText = R"(graph g(%x: f32[N,4], %w: f32[4,4]) {
    %y = Loop(i64[] 3, _, %x) body(%i, %on, %v) {
      %p = MatMul(%v, %w)
      %w2 = Concat(%p, %x) {axis = 0}
      yield %on, %w2
    }
    return y = %y })";
  EXPECT_EQ(cost_of(kText, {{2, 4}, {4, 4}}).flops, 2.0 * 4 * 4 * (2 + 4 + 6));
}

/// The operations of an opaque operator are unknown; its bytes are known.
TEST(Cost, Opaque) {
  const Cost cost = cost_of("graph g(%x: f32[N]) { %y = NonZero(%x) return y = %y }", {{6}});
  EXPECT_FALSE(cost.flops_known);
  EXPECT_EQ(cost.flops, 0);
  EXPECT_EQ(cost.read, 24);
  EXPECT_EQ(cost.written, 0);
}

}  // namespace
}  // namespace frazil::test
