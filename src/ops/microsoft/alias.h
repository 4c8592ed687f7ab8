#pragma once

#include "ops/index/index.h"
#include "ops/microsoft/microsoft.h"
#include "ops/nn/quant.h"
#include "ops/view/view.h"

// Operators that also exist in ai.onnx.
namespace frazil::ops::microsoft {

FRAZIL_OP(Trilu,
          composite<TriluAttrs>({"Trilu", 1, "The upper or lower triangle of each matrix, 0 elsewhere.", kDomain},
                                {kTriluIn, kDataOut}, trilu_body));

inline constexpr std::array<Port, 2> kGatherNdIn{{{"data", "T", elems::kTensor}, {"indices", "", elems::kIndex}}};
void gather_nd_body(CompositeCx& cx);
FRAZIL_OP(GatherND, composite({"GatherND", 1, "Slices selected by index tuples over several axes.", kDomain},
                              {kGatherNdIn, kPortY<elems::kTensor>}, gather_nd_body));

inline constexpr ElemSet kPadElems = elems::kFloat;
inline constexpr std::array<Port, 3> kPadIn{
    {{"data", "T", kPadElems}, {"pads", "", elems::kI64}, {"value", "T", kPadElems, Port::Use::optional}}};
inline constexpr std::array<Port, 1> kPadOut{{{"output", "T", kPadElems}}};
void pad_body(CompositeCx& cx);
FRAZIL_OP(Pad,
          composite<PadAttrs>({"Pad", 1, "Positions added before and after each axis; negative counts crop.", kDomain},
                              {kPadIn, kPadOut}, pad_body));

inline constexpr std::array<Port, 3> kRangeIn{
    {{"start", "T", kRangeElems}, {"limit", "T", kRangeElems}, {"delta", "T", kRangeElems, Port::Use::optional}}};
inline constexpr std::array<Port, 1> kRangeOut{{{"Y", "T", kRangeElems}}};
void range_body(CompositeCx& cx);
FRAZIL_OP(Range, composite({"Range", 1, "start, start + delta, ... up to but excluding limit; delta is 1 by default.",
                            kDomain},
                           {kRangeIn, kRangeOut}, range_body));

inline constexpr std::array<Port, 1> kUniqueIn{{{"x", "T", elems::kNumeric}}};
inline constexpr std::array<Port, 3> kUniqueOut{{{"y", "T", elems::kNumeric},
                                                 {"idx", "", elems::kI64, Port::Use::optional},
                                                 {"counts", "", elems::kI64, Port::Use::optional}}};
void unique_body(CompositeCx& cx);
FRAZIL_OP(Unique, composite({"Unique", 1,
                             "The distinct elements in order of occurrence, the index of each, their counts.", kDomain},
                            {kUniqueIn, kUniqueOut}, unique_body));

struct LinearQuantAttrs : QuantizeAttrs {
  static constexpr std::array fields{attr<&QuantizeAttrs::axis>("axis", "the axis that a 1-D scale belongs to")};
};
struct LinearDequantAttrs : DequantizeAttrs {
  static constexpr std::array fields{attr<&DequantizeAttrs::axis>("axis", "the axis that a 1-D scale belongs to")};
};
FRAZIL_OP(QuantizeLinear,
          composite<LinearQuantAttrs>({"QuantizeLinear", 1,
                                       "x / y_scale + y_zero_point, rounded half to even and saturated.", kDomain},
                                      {kQuantizeIn, kQuantizeOut}, quantize_body));
FRAZIL_OP(DequantizeLinear,
          composite<LinearDequantAttrs>({"DequantizeLinear", 1, "(x - x_zero_point) * x_scale.", kDomain},
                                        {kDequantizeIn, kDequantizeOut}, dequantize_body));

}  // namespace frazil::ops::microsoft
