#include <algorithm>

#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/core/rules.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"

namespace frazil::ops {
namespace {

/// Returns for each axis of the input 1 if the reduction folds it, else 0. The marks are expressions if axes are read
/// at run time.
Result<std::vector<Dim>> reduced_marks(InferCx& cx) {
  std::int64_t given = 0;
  if (cx.has(1)) {
    FRAZIL_TRY(given, cx.assumed_count(1));
  }
  if (given != 0) return axis_marks(cx, 1, cx.rank(0));
  return std::vector<Dim>(cx.rank(0), cx.attrs<ReduceAttrs>().noop_with_empty_axes == 0 ? 1 : 0);
}

/// Reads input 0 at its own index. Writes the remaining axes, and extent 1 for each folded axis if `keep` is set.
void fold_axes(InferCx& cx, Space& space, const std::vector<Dim>& marks, bool keep) {
  space.reads.resize(cx.input_count());
  for (std::size_t d = 0; d < marks.size(); ++d) {
    const bool reduced = marks[d] == Dim(1);
    const Dim extent = cx.shape(0)[d];
    if (!reduced) space.write.push_back(static_cast<int>(space.axes.size()));
    if (reduced && keep) space.write.push_back(-1);
    space.reads[0].push_back(reduced ? space.reduced(extent) : space.parallel(extent));
  }
}

/// Returns extent if mark is 1, else 1.
Dim extent_if(Scope& s, Dim mark, Dim extent) { return s.add(1, s.mul(mark, s.sub(extent, 1))); }

/// Adds the axes for marks that are read at run time, as fold_axes does for constant marks. Each input axis is the sum
/// of a written and a folded axis, one of which has extent 1 or factor 0.
Status fold_marked_axes(InferCx& cx, Space& space, const std::vector<Dim>& marks, bool keep) {
  FRAZIL_TRY(const std::int64_t given, cx.assumed_count(1));
  Scope& s = cx.scope();
  const auto& in = cx.shape(0);
  const std::size_t rank = in.size(), named = static_cast<std::size_t>(given);
  const std::size_t count = keep ? rank : rank - std::min(rank, named);
  const auto places = keep ? std::vector<std::vector<Dim>>{} : unmarked_places(s, marks, count);
  space.reads.resize(cx.input_count());
  space.reads[0].resize(rank);
  for (std::size_t j = 0; j < count; ++j) {
    Dim extent = 0;
    if (keep) extent = extent_if(s, s.sub(1, marks[j]), in[j]);
    for (std::size_t d = 0; d < rank && !keep; ++d) extent = s.add(extent, s.mul(places[d][j], in[d]));
    space.write.push_back(static_cast<int>(space.axes.size()));
    const int axis = space.parallel(extent).terms[0].first;
    for (std::size_t d = 0; d < rank; ++d) {
      if (!keep) space.reads[0][d].terms.emplace_back(axis, places[d][j]);
      if (keep && d == j) space.reads[0][d].terms.emplace_back(axis, Dim(1));
    }
  }
  for (std::size_t d = 0; d < rank; ++d) {
    space.reads[0][d].terms.push_back(space.reduced(extent_if(s, marks[d], in[d])).terms[0]);
  }
  return {};
}

Fold fold_of(Fold fold, Elem elem) {
  if (elem != Elem::boolean) return fold;
  return fold == Fold::max ? Fold::any : Fold::all;
}

}  // namespace

Status reduce_space(InferCx& cx, Space& space, Fold fold) {
  FRAZIL_TRY(const std::vector<Dim> marks, reduced_marks(cx));
  const bool keep = cx.attrs<ReduceAttrs>().keepdims != 0;
  const bool known = std::ranges::all_of(marks, [](Dim m) { return m.is_const(); });
  if (known) {
    fold_axes(cx, space, marks, keep);
  } else {
    FRAZIL_CHECK(fold_marked_axes(cx, space, marks, keep));
  }
  space.folds = {fold_of(fold, cx.elem(0))};
  return {};
}

Status arg_space(InferCx& cx, Space& space, Fold fold) {
  const auto& a = cx.attrs<ArgAttrs>();
  FRAZIL_TRY(const int axis, cx.axis(a.axis, cx.rank(0)));
  std::vector<Dim> marks(cx.rank(0), 0);
  marks[static_cast<std::size_t>(axis)] = 1;
  const Dim extent = cx.shape(0)[static_cast<std::size_t>(axis)];
  if (extent == Dim(0)) return cx.error("axis {} has no elements", axis);
  FRAZIL_CHECK(require_at_least(cx, extent, 1, fmt::format("axis {}", axis)));
  fold_axes(cx, space, marks, a.keepdims != 0);
  space.folds = {fold};
  space.report = space.reads[0][static_cast<std::size_t>(axis)];
  space.last_wins = a.select_last_index != 0;
  return {};
}

Status reduced_count_types(InferCx& cx) {
  FRAZIL_TRY(const std::vector<Dim> marks, reduced_marks(cx));
  Dim count = 1;
  for (std::size_t d = 0; d < marks.size(); ++d) {
    count = cx.scope().mul(count, extent_if(cx.scope(), marks[d], cx.shape(0)[d]));
  }
  cx.out(0, Type::tensor(Elem::i64));
  cx.out_known_value(0, {count});
  return {};
}

Status reduced_count_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const std::int64_t axes = call.has(1) ? call.in(1).count() : 0, rank = static_cast<std::int64_t>(x.rank());
  std::int64_t count = 1;
  if (axes == 0 && call.attrs<ReduceAttrs>().noop_with_empty_axes == 0) count = x.count();
  for (std::int64_t i = 0; i < axes; ++i) {
    const std::int64_t axis = call.in(1).integer(i) + (call.in(1).integer(i) < 0 ? rank : 0);
    if (axis < 0 || axis >= rank) return fail(Code::bad_input, "axis {} is outside [{}, {})", axis, -rank, rank);
    count *= x.sizes[static_cast<std::size_t>(axis)];
  }
  FRAZIL_TRY(std::byte* const out, call.out(0, {}));
  *reinterpret_cast<std::int64_t*>(out) = count;
  return {};
}

// ---- composites ----

namespace {

/// Returns a reduction of x with this operator's axes and attributes.
Expr reduced(CompositeCx& cx, const Op<ReduceAttrs>& op, Expr x) {
  return op({x, cx.has(1) ? cx.in(1) : cx.builder().absent()}, cx.attrs<ReduceAttrs>());
}
Expr reduced_kept(CompositeCx& cx, const Op<ReduceAttrs>& op, Expr x) {
  ReduceAttrs kept = cx.attrs<ReduceAttrs>();
  kept.keepdims = 1;
  return op({x, cx.has(1) ? cx.in(1) : cx.builder().absent()}, kept);
}

/// Returns the float type in which roots and logarithms of `e` are computed.
Elem real_elem(Elem e) { return is_float(e) ? compute_elem(e) : Elem::f64; }
Expr real_input(CompositeCx& cx) { return as_elem(cx.in(0), real_elem(cx.elem(0))); }

}  // namespace

void reduce_mean_body(CompositeCx& cx) {
  const Elem elem = cx.elem(0), wide = compute_elem(elem);
  const Expr count = reduced(cx, ReducedCount, cx.in(0));
  cx.out(0, as_elem(Div(reduced(cx, ReduceSum, as_elem(cx.in(0), wide)), as_elem(count, wide)), elem));
}

void reduce_l2_body(CompositeCx& cx) {
  cx.out(0, as_elem(Sqrt(reduced(cx, ReduceSumSquare, real_input(cx))), cx.elem(0)));
}

void reduce_log_sum_body(CompositeCx& cx) {
  cx.out(0, as_elem(Log(reduced(cx, ReduceSum, real_input(cx))), cx.elem(0)));
}

/// Subtracts the maximum before exp to avoid overflow, unless it is infinite.
void reduce_log_sum_exp_body(CompositeCx& cx) {
  const Expr x = real_input(cx), zero = cx.number(real_elem(cx.elem(0)), 0);
  auto finite = [&](Expr m) { return Where(IsInf(m), zero, m); };
  const Expr shifted = Sub(x, finite(reduced_kept(cx, ReduceMax, x)));
  const Expr logs = Log(reduced(cx, ReduceSum, Exp(shifted)));
  cx.out(0, as_elem(Add(logs, finite(reduced(cx, ReduceMax, x))), cx.elem(0)));
}

}  // namespace frazil::ops
