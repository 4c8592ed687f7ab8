#include "ops/elementwise/logic.h"

#include "tensor/onnx_proto.h"

namespace frazil::ops {
namespace {

/// Returns the largest magnitude, at which conversion saturates. Returns 0 if the format has no such option.
double largest(Elem e) {
  switch (e) {
    case Elem::f8e4m3fn: return 448;
    case Elem::f8e4m3fnuz: return 240;
    case Elem::f8e5m2:
    case Elem::f8e5m2fnuz: return 57344;
    default: return 0;
  }
}

}  // namespace

Elem cast_result(const void* attrs, std::span<const Elem>) { return static_cast<const CastAttrs*>(attrs)->to; }

Status cast_check(const void* attrs) {
  const auto& a = *static_cast<const CastAttrs*>(attrs);
  if (!contains(kCastElems, a.to)) {
    return fail(Code::unsupported, "casts to {} are not available", name_of(a.to));
  }
  if (a.round_mode != "up" && a.round_mode != "down" && a.round_mode != "nearest") {
    return fail(Code::bad_model, "round_mode '{}' is not one of up, down, nearest", a.round_mode);
  }
  if (a.round_mode == "up" || a.to != Elem::f8e8m0) return {};
  return fail(Code::unsupported, "round_mode '{}' of f8e8m0 is not available", a.round_mode);
}

Sx cast_body(Sx x, const CastAttrs& a) {
  const Elem to = cast_result(&a, {});
  // Sub-byte integers keep the low bits of out-of-range values.
  const bool narrow = is_int(to) && bit_width(to) < 8 && is_float(x.type());
  const Sx y = cast(narrow ? cast(x, Elem::i64) : x, compute_elem(to));
  if (a.saturate == 0) return y;
  if (to == Elem::f8e8m0) return min(max(abs(y), 0x1p-127), 0x1p127);
  const double limit = largest(to);
  return limit == 0 ? y : max(min(y, limit), lit(y, -limit));
}

void cast_like_body(CompositeCx& cx) {
  const auto& a = cx.attrs<CastLikeAttrs>();
  cx.out(0, Cast({cx.in(0)}, {.to = cx.elem(1), .saturate = a.saturate, .round_mode = a.round_mode}));
}

}  // namespace frazil::ops
