#include <algorithm>

#include "ir/op/axis.h"
#include "ops/core/move.h"
#include "ops/core/numbers.h"
#include "ops/core/rules.h"
#include "ops/signal/fourier.h"
#include "ops/signal/fourier_smooth.h"
#include "ops/signal/signal.h"

namespace frazil::ops {
namespace {

constexpr std::int64_t kDefaultAxis = -2;

/// Returns `axis` counted from the front. It must precede the axis that holds real and imaginary parts.
Result<std::size_t> front_axis(std::int64_t axis, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  const std::size_t front = from_front(axis, rank);
  if (axis >= -r && front + 1 < rank) return front;
  return fail(Code::bad_input, "axis {} is not one of the first {} of {} axes", axis, r - 1, r);
}

/// Returns the axis, or nullopt if it is unknown until the run.
Result<std::optional<std::size_t>> known_axis(InferCx& cx) {
  std::int64_t axis = kDefaultAxis;
  if (cx.has(2)) {
    FRAZIL_CHECK(cx.require_equal(product(cx.scope(), cx.shape(2)), 1, "element count of input 'axis'"));
    if (!is_known(cx, 2)) return std::nullopt;
    FRAZIL_TRY(const Ints given, known_ints(cx, 2));
    axis = given.empty() ? axis : given[0];
  }
  auto front = front_axis(axis, cx.rank(0));
  if (!front) return cx.error("{}", front.error().text());
  return *front;
}

Status check_parts(InferCx& cx) {
  const auto& a = cx.attrs<DftAttrs>();
  if (cx.rank(0) < 2) return cx.error("the input must have at least 2 axes, got {}", cx.type_str(0));
  Scope& s = cx.scope();
  const Dim parts = cx.shape(0).back();
  if (a.onesided != 0 && a.inverse == 0) {
    FRAZIL_CHECK(cx.require_equal(parts, 1, "extent of the last axis of a real signal"));
  } else {
    FRAZIL_CHECK(cx.require_equal(parts, s.max(1, s.min(parts, 2)), "extent of the last axis"));
  }
  return {};
}

}  // namespace

Status dft_types(InferCx& cx) {
  const auto& a = cx.attrs<DftAttrs>();
  FRAZIL_CHECK(check_parts(cx));
  Scope& s = cx.scope();
  Shape shape = cx.shape(0);
  FRAZIL_TRY(const auto axis, known_axis(cx));
  std::optional<Dim> length;
  if (cx.has(1)) {
    FRAZIL_TRY(length, cx.int_scalar(1));
    FRAZIL_CHECK(require_at_least(cx, *length, 1, "dft_length"));
    length = s.max(*length, 1);
  }
  if (axis) {
    const Dim in = shape[*axis];
    const bool halved = a.onesided != 0 && a.inverse == 0, doubled = a.onesided != 0 && a.inverse != 0;
    const Dim n = length ? *length : doubled ? s.max(0, s.mul(2, s.sub(in, 1))) : in;
    shape[*axis] = halved ? s.add(s.floordiv(n, 2), 1) : n;
  } else if (length || a.onesided != 0) {
    for (std::size_t d = 0; d + 1 < shape.size(); ++d) shape[d] = cx.data_extent(0, static_cast<int>(d));
  }
  shape.back() = a.onesided != 0 && a.inverse != 0 ? 1 : 2;
  cx.out(0, Type::tensor(cx.elem(0), std::move(shape)));
  return {};
}

namespace {

using Number = Fourier::Number;

struct DftJob {
  AxisSplit in;  ///< around the transformed axis; `inner` excludes the parts
  std::int64_t parts, points, out;
  bool inverse, onesided;
  const TensorView& x;
  std::byte* y;
  Elem elem;

  /// Reads one line and zero-pads it to `points` values.
  template <class T>
  void load(std::int64_t outer, std::int64_t inner, Number* line) const {
    const bool half = inverse && onesided;
    const std::int64_t most = half ? points / 2 + 1 : points, count = std::min(in.extent, most);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t at = ((outer * in.extent + k) * in.inner + inner) * parts;
      line[k] = {to_number(element<T>(x.data, at)), parts == 2 ? to_number(element<T>(x.data, at + 1)) : 0};
    }
    std::fill(line + count, line + points, Number{});
    for (std::int64_t k = 1; half && k < points - k; ++k) line[points - k] = std::conj(line[k]);
  }
  template <class T>
  void store(std::int64_t outer, std::int64_t inner, const Number* line) const {
    const bool real = inverse && onesided;
    for (std::int64_t k = 0; k < out; ++k) {
      const std::int64_t at = ((outer * out + k) * in.inner + inner) * (real ? 1 : 2);
      element<T>(y, at) = from_number<T>(line[k].real());
      if (!real) element<T>(y, at + 1) = from_number<T>(line[k].imag());
    }
  }
};

template <class Transform>
void run_lines(const DftJob& job, Number* line, const Transform& transform) {
  PollThrottle throttle;
  for (std::int64_t outer = 0; outer < job.in.outer; ++outer) {
    for (std::int64_t inner = 0; inner < job.in.inner; ++inner) {
      if (throttle.stop(4 * job.points)) return;
      visit_storage(job.elem, [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        job.load<T>(outer, inner, line);
        transform.run(line);
        job.store<T>(outer, inner, line);
      });
    }
  }
}

void run_lines(const DftJob& job, Number* memory) {
  Number* const behind = memory + job.points;
  const bool plain = job.parts == 2 && !job.onesided;  // single precision would lose the exact zeros of a real line
  if (job.elem == Elem::f32 && plain && SmoothFourier::supports(job.points)) {
    auto* const singles = reinterpret_cast<SmoothFourier::Number*>(behind);
    run_lines(job, memory, SmoothFourier(job.points, job.inverse, singles));
  } else {
    run_lines(job, memory, Fourier(job.points, job.inverse, behind));
  }
}

}  // namespace

Status dft_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const auto& a = call.attrs<DftAttrs>();
  const bool inverse = a.inverse != 0, onesided = a.onesided != 0;
  FRAZIL_TRY(const std::size_t axis, front_axis(call.has(2) ? call.in(2).integer(0) : kDefaultAxis, x.rank()));
  const std::int64_t parts = x.sizes.back(), extent = x.sizes[axis];
  const std::int64_t natural = inverse && onesided ? 2 * (extent - 1) : extent;
  const std::int64_t points = call.has(1) ? call.in(1).integer(0) : natural;
  if (points < 1) return fail(Code::bad_input, "a transform needs at least 1 point, got {}", points);
  Sizes sizes(x.sizes.begin(), x.sizes.end());
  sizes[axis] = onesided && !inverse ? points / 2 + 1 : points;
  sizes.back() = inverse && onesided ? 1 : 2;
  FRAZIL_TRY(std::byte* const y, call.out(0, sizes));
  if (element_count(sizes) == 0) return {};
  const std::size_t numbers = Fourier::scratch(points);
  if (numbers > std::size_t{1} << 48) return fail(Code::limit, "a transform of {} points is too large", points);
  FRAZIL_TRY(std::byte* const memory, call.scratch((numbers + static_cast<std::size_t>(points)) * sizeof(Number)));
  AxisSplit in(x.sizes.first(x.rank() - 1), axis);
  run_lines({in, parts, points, sizes[axis], inverse, onesided, x, y, x.elem}, reinterpret_cast<Number*>(memory));
  return {};
}

}  // namespace frazil::ops
