#pragma once

#include "ir/op/define.h"

// Quantisation: real = (integer - zero point) * scale. Parameters are per tensor, per index of an axis, or per block
// along it.
namespace frazil::ops {

inline constexpr ElemSet kSmallFloat8 =
    one(Elem::f8e4m3fn) | one(Elem::f8e4m3fnuz) | one(Elem::f8e5m2) | one(Elem::f8e5m2fnuz);
inline constexpr ElemSet kQuantElems = one(Elem::u8) | one(Elem::i8) | one(Elem::u16) | one(Elem::i16) | one(Elem::u4) |
                                       one(Elem::i4) | one(Elem::u2) | one(Elem::i2) | one(Elem::f4e2m1) | kSmallFloat8;
inline constexpr ElemSet kHalfOrSingle = one(Elem::f32) | one(Elem::f16) | one(Elem::bf16);
inline constexpr ElemSet kQuantReal = kHalfOrSingle | one(Elem::i32);
inline constexpr ElemSet kQuantScale = kHalfOrSingle | one(Elem::f8e8m0);

struct QuantizeAttrs {
  std::int64_t axis = 1;
  std::int64_t saturate = 1;
  std::int64_t block_size = 0;
  std::optional<Elem> output_dtype;
  std::optional<Elem> precision;
  static constexpr std::array fields{
      attr<&QuantizeAttrs::axis>("axis", "the axis that a 1-D or blocked scale belongs to", 13),
      attr<&QuantizeAttrs::saturate>("saturate", "8-bit floats: 1 saturates to the largest number", 19),
      attr<&QuantizeAttrs::block_size>("block_size", "indices of the axis that share a scale; 0: no blocks", 21),
      attr<&QuantizeAttrs::output_dtype>("output_dtype", "ONNX data type of y; 0: the zero point's, or u8", 23),
      attr<&QuantizeAttrs::precision>("precision", "ONNX data type of x / y_scale; 0: that of y_scale", 23)};
};
inline constexpr std::array<Port, 3> kQuantizeIn{{{"x", "T1", kQuantReal},
                                                  {"y_scale", "T2", kQuantScale | one(Elem::i32)},
                                                  {"y_zero_point", "T3", kQuantElems, Port::Use::optional}}};
inline constexpr std::array<Port, 1> kQuantizeOut{{{"y", "", kQuantElems}}};
void quantize_body(CompositeCx& cx);
/// Return the element type of y.
Elem quantize_elem(const void* attrs, std::span<const Elem> inputs);
Elem dequantize_elem(const void* attrs, std::span<const Elem> inputs);
FRAZIL_OP(QuantizeLinear, composite<QuantizeAttrs>({"QuantizeLinear",
                                                    {25, 10},
                                                    "x / y_scale + y_zero_point, rounded half to even and saturated."},
                                                   {kQuantizeIn, kQuantizeOut}, quantize_body, quantize_elem));

struct DequantizeAttrs {
  std::int64_t axis = 1;
  std::int64_t block_size = 0;
  std::optional<Elem> output_dtype;
  static constexpr std::array fields{
      attr<&DequantizeAttrs::axis>("axis", "the axis that a 1-D or blocked scale belongs to", 13),
      attr<&DequantizeAttrs::block_size>("block_size", "indices of the axis that share a scale; 0: no blocks", 21),
      attr<&DequantizeAttrs::output_dtype>("output_dtype", "ONNX data type of y; 0: that of x_scale", 23)};
};
inline constexpr std::array<Port, 3> kDequantizeIn{
    {{"x", "T1", kQuantElems | one(Elem::i32)},
     {"x_scale", "T2", kQuantScale},
     {"x_zero_point", "T1", kQuantElems | one(Elem::i32), Port::Use::optional}}};
inline constexpr std::array<Port, 1> kDequantizeOut{{{"y", "", kHalfOrSingle}}};
void dequantize_body(CompositeCx& cx);
FRAZIL_OP(DequantizeLinear,
          composite<DequantizeAttrs>({"DequantizeLinear", {25, 10}, "(x - x_zero_point) * x_scale."},
                                     {kDequantizeIn, kDequantizeOut}, dequantize_body, dequantize_elem));

inline constexpr std::array<Port, 1> kDynamicQuantizeIn{{{"x", "", elems::kF32}}};
inline constexpr std::array<Port, 3> kDynamicQuantizeOut{
    {{"y", "", one(Elem::u8)}, {"y_scale", "", elems::kF32}, {"y_zero_point", "", one(Elem::u8)}}};
void dynamic_quantize_body(CompositeCx& cx);
FRAZIL_OP(DynamicQuantizeLinear,
          composite({"DynamicQuantizeLinear", 11, "x as u8, with a scale and zero point from its range."},
                    {kDynamicQuantizeIn, kDynamicQuantizeOut}, dynamic_quantize_body));

/// Returns round(x) + zero for an f32 x, saturated to the integer type `to`. `zero` may be absent.
Expr requantized(CompositeCx& cx, Expr x, Expr zero, Elem to);

}  // namespace frazil::ops
