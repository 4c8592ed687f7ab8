#pragma once

#include "ir/op/define.h"

namespace frazil::ops {

/// The element types that consist of bits: all but strings.
inline constexpr ElemSet kBitElems = elems::kTensor & ~elems::kString;
inline constexpr std::array<Port, 1> kBitCastIn{{{"input", "T1", kBitElems}}},
    kBitCastOut{{{"output", "T2", kBitElems}}};
struct BitCastAttrs {
  Elem to = Elem::f32;
  static constexpr std::array fields{required<&BitCastAttrs::to>("to", "ONNX number of the element type")};
};
Status bit_cast_types(InferCx& cx);
Status bit_cast_run(OpaqueCall& call);
FRAZIL_OP(BitCast, opaque<BitCastAttrs>({"BitCast", 26, "The same bits under another element type of the same width."},
                                        {kBitCastIn, kBitCastOut}, bit_cast_types, bit_cast_run,
                                        "scalar primitives see values, not bits"));

}  // namespace frazil::ops
