#include "ops/index/cumulative.h"

#include <algorithm>
#include <functional>

#include "base/thread/poll_throttle.h"

namespace frazil::ops {
namespace {

struct Running {
  std::int64_t outer = 1, count = 1, inner = 1;
  bool exclusive, reverse;
};

template <class Wide, class Fold>
constexpr Wide kNeutral = std::is_same_v<Fold, std::multiplies<>> ? Wide{1} : Wide{0};

template <class T, class Wide, class Fold>
void run_lines(const TensorView& x, std::byte* out, const Running& r) {
  const T* in = x.as<T>().data();
  T* y = reinterpret_cast<T*>(out);
  const std::int64_t step = r.reverse ? -r.inner : r.inner;
  const std::int64_t work = r.inner > 1 ? 8 : 1;  // each element is on another cache line
  PollThrottle throttle;
  for (std::int64_t line = 0; line < r.outer * r.inner; ++line) {
    const std::int64_t base = line / r.inner * r.count * r.inner + line % r.inner;
    std::int64_t at = r.reverse ? base + (r.count - 1) * r.inner : base;
    Wide total = kNeutral<Wide, Fold>;
    for (std::int64_t i = 0; i < r.count; ++i, at += step) {
      if (throttle.stop(work)) return;
      const Wide before = total;
      total = static_cast<Wide>(Fold{}(total, static_cast<Wide>(in[at])));
      y[at] = static_cast<T>(r.exclusive ? before : total);
    }
  }
}

template <class Fold>
Status run_fold(OpaqueCall& call) {
  const TensorView x = call.in(0), position = call.in(1);
  const auto& a = call.attrs<CumulativeAttrs>();
  const auto rank = static_cast<std::int64_t>(x.rank());
  if (position.count() != 1) return fail(Code::bad_input, "input 'axis' must have one element");
  const std::int64_t axis = position.integer(0) + (position.integer(0) < 0 ? rank : 0);
  if (axis < 0 || axis >= rank)
    return fail(Code::bad_input, "axis {} is outside [{}, {})", position.integer(0), -rank, rank);
  const auto d = static_cast<std::size_t>(axis);
  const Running r{element_count(x.sizes.first(d)), x.sizes[d], element_count(x.sizes.subspan(d + 1)), a.exclusive != 0,
                  a.reverse != 0};
  FRAZIL_TRY(std::byte* const y, call.out(0, x.sizes));
  if (x.count() == 0) return {};
  switch (x.elem) {
    case Elem::i32: run_lines<std::int32_t, std::uint32_t, Fold>(x, y, r); break;
    case Elem::u32: run_lines<std::uint32_t, std::uint32_t, Fold>(x, y, r); break;
    case Elem::i64: run_lines<std::int64_t, std::uint64_t, Fold>(x, y, r); break;
    case Elem::u64: run_lines<std::uint64_t, std::uint64_t, Fold>(x, y, r); break;
    case Elem::f64: run_lines<double, double, Fold>(x, y, r); break;
    case Elem::f16: run_lines<Half, float, Fold>(x, y, r); break;
    case Elem::bf16: run_lines<BFloat16, float, Fold>(x, y, r); break;
    default: run_lines<float, float, Fold>(x, y, r); break;
  }
  return {};
}

/// Returns whether a Dim with operand `d` is exact. Extents and numbers that cannot overflow are.
bool is_exact(const Scope& scope, Dim d) {
  constexpr std::int64_t kMaximum = std::int64_t{1} << 31;
  return d.is_const() ? d.value() >= -kMaximum && d.value() <= kMaximum : scope.bounds(d).min >= 0;
}

bool is_saturated(Dim d) { return d.is_const() && (d.value() >= Dim::kMax || d.value() <= Dim::kMin); }

/// Returns the partial results of a known 1-D shape value.
std::optional<std::vector<Dim>> known_running(InferCx& cx, Dim neutral, Dim (Scope::*fold)(Dim, Dim)) {
  const auto* x = cx.known_value(0);
  const auto* axis = cx.known_value(1);
  const bool is_only_axis = axis != nullptr && axis->size() == 1 && ((*axis)[0] == Dim(0) || (*axis)[0] == Dim(-1));
  if (x == nullptr || cx.rank(0) != 1 || !is_only_axis) return std::nullopt;
  if (!std::ranges::all_of(*x, [&](Dim d) { return is_exact(cx.scope(), d); })) return std::nullopt;
  const auto& a = cx.attrs<CumulativeAttrs>();
  std::vector<Dim> results(x->size());
  Dim total = neutral;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const std::size_t at = a.reverse != 0 ? results.size() - 1 - k : k;
    const Dim next = (cx.scope().*fold)(total, (*x)[at]);
    if (is_saturated(next)) return std::nullopt;
    results[at] = a.exclusive != 0 ? total : next;
    total = next;
  }
  return results;
}

Status cumulative_types(InferCx& cx, Dim neutral, Dim (Scope::*fold)(Dim, Dim)) {
  if (const Tensor* axis = cx.constant(1)) {
    if (axis->count() != 1) return cx.error("input 'axis' must have one element, got {}", axis->type_str());
    FRAZIL_CHECK(cx.axis(axis->integer_at(0), cx.rank(0)));
  }
  cx.out(0, cx.type(0));
  if (cx.elem(0) == Elem::i64) {
    if (auto results = known_running(cx, neutral, fold)) cx.out_known_value(0, std::move(*results));
  }
  return {};
}

}  // namespace

Status cum_sum_types(InferCx& cx) { return cumulative_types(cx, 0, &Scope::add); }
Status cum_sum_run(OpaqueCall& call) { return run_fold<std::plus<>>(call); }

Status cum_prod_types(InferCx& cx) { return cumulative_types(cx, 1, &Scope::mul); }
Status cum_prod_run(OpaqueCall& call) { return run_fold<std::multiplies<>>(call); }

}  // namespace frazil::ops
