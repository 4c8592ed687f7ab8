#include "ops/view/bit_cast.h"

#include "ops/core/move.h"
#include "tensor/onnx_proto.h"

namespace frazil::ops {
namespace {

/// Returns the valid form of a byte of a narrower type: bools are 0 or 1, signed types are sign-extended.
std::uint8_t held(Elem elem, std::uint8_t byte) {
  const int spare = 8 - bit_width(elem);
  if (elem == Elem::boolean) return byte != 0;
  if (is_signed_int(elem)) return static_cast<std::uint8_t>(static_cast<std::int8_t>(byte << spare) >> spare);
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(byte << spare) >> spare);
}

}  // namespace

Status bit_cast_types(InferCx& cx) {
  const Elem to = cx.attrs<BitCastAttrs>().to;
  if (!contains(kBitElems, to)) return cx.error("to = {} is not an element type with bits", name_of(to));
  if (bit_width(to) != bit_width(cx.elem(0))) {
    return cx.error("{} has {} bits, {} has {}", name_of(cx.elem(0)), bit_width(cx.elem(0)), name_of(to),
                    bit_width(to));
  }
  cx.out(0, Type::tensor(to, cx.shape(0)));
  return {};
}

Status bit_cast_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const Elem elem = call.out_elem(0);
  FRAZIL_TRY(std::byte* const y, call.out(0, x.sizes));
  move_elements(x.elem, y, x.data, x.count());
  if (elem != Elem::boolean && bit_width(elem) == 8) return {};
  if (byte_size(elem) != 1) return {};
  PollThrottle throttle;
  for (std::int64_t i = 0; i < x.count() && !throttle.stop(1); ++i) {
    y[i] = static_cast<std::byte>(held(elem, static_cast<std::uint8_t>(y[i])));
  }
  return {};
}

}  // namespace frazil::ops
