#include <algorithm>
#include <array>

#include "ir/op/axis.h"
#include "ops/contraction/contraction.h"
#include "pass/engine/rules.h"

namespace frazil::pass {
namespace {

/// Returns the node's reduced axes as runs of adjacent axes, if they are known and distinct; else none.
std::vector<Ints> reduced_runs(const Site& s) {
  const Tensor* axes = s.has(1) ? s.constant(1) : nullptr;
  if (axes == nullptr || !s.type(0).ranked) return {};
  Ints sorted;
  for (std::int64_t i = 0; i < axes->count(); ++i) {
    sorted.push_back(static_cast<std::int64_t>(from_front(axes->integer_at(i), s.type(0).rank())));
  }
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) return {};
  std::vector<Ints> runs;
  for (const std::int64_t axis : sorted) {
    if (runs.empty() || axis != runs.back().back() + 1) runs.emplace_back();
    runs.back().push_back(axis);
  }
  return runs;
}

/// Returns true for several runs of axes. Excludes integer means, since means of means would round twice.
bool reduces_apart(const Site& s) {
  constexpr ElemSet kServed = one(Elem::f32) | one(Elem::f64) | one(Elem::i32) | one(Elem::i64);
  const bool whole = s.node.op != &ops::ReduceMean || is_float(s.elem(0));
  return whole && contains(kServed, s.elem(0)) && reduced_runs(s).size() > 1;
}

/// Reduces the last run first, so that intermediate results are small and earlier axes keep their numbers.
Expr reduce_in_turn(const Site& s, Builder& to) {
  const std::vector<Ints> runs = reduced_runs(s);
  const bool sums_powers = s.node.op == &ops::ReduceL1 || s.node.op == &ops::ReduceSumSquare;
  Expr x{&to, s.in[0]};
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const OpDef* op = sums_powers && run != runs.rbegin() ? &ops::ReduceSum : s.node.op;
    x = to.add(*op, std::array{x, to.ints(*run)}, s.node.attrs)[0];
  }
  return x;
}

using N = Numerics;
constexpr Rule kReduceRules[] = {
    {"reduce_extremes_apart", kOps<ops::ReduceMax, ops::ReduceMin>,
     "max or min over non-adjacent axes -> one reduction per run of adjacent axes", N::exact,
     when<reduces_apart, reduce_in_turn>},
    {"reduce_apart", kOps<ops::ReduceSum, ops::ReduceMean, ops::ReduceProd, ops::ReduceL1, ops::ReduceSumSquare>,
     "as above, for sums and products", N::reassociated, when<reduces_apart, reduce_in_turn>},
};

}  // namespace

std::span<const Rule> reduce_rules() { return kReduceRules; }

}  // namespace frazil::pass
