#pragma once

#include "ops/image/sample.h"
#include "ops/index/index.h"
#include "ops/microsoft/microsoft.h"
#include "ops/nn/attention.h"
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

struct LegacyGridAttrs {
  std::int64_t align_corners = 0;
  std::string mode = "bilinear";
  std::string padding_mode = "zeros";
  static constexpr std::array fields{
      attr<&LegacyGridAttrs::align_corners>("align_corners", "1: -1 and 1 are centres of the outer pixels, not edges"),
      attr<&LegacyGridAttrs::mode>("mode", "bilinear, nearest or bicubic"),
      attr<&LegacyGridAttrs::padding_mode>("padding_mode", "outside: zeros, border or reflection")};
};
inline constexpr std::array<Port, 2> kLegacyGridIn{{{"X", "T1", elems::kFloat}, {"Grid", "T1", elems::kFloat}}};
inline constexpr std::array<Port, 1> kLegacyGridOut{{{"Y", "T1", elems::kFloat}}};
void legacy_grid_body(CompositeCx& cx);
FRAZIL_OP(GridSample,
          composite<LegacyGridAttrs>({"GridSample", 1, "Images sampled at the positions of a grid.", kDomain},
                                     {kLegacyGridIn, kLegacyGridOut}, legacy_grid_body));

struct StatefulConvAttrs : CausalConvAttrs {
  std::int64_t channels_last = 0;
  std::int64_t dilation = 1;
  std::int64_t ndim = 1;
  std::int64_t state_window = 0;
  static constexpr std::array fields{
      CausalConvAttrs::fields[0], attr<&StatefulConvAttrs::channels_last>("channels_last", "must be 0"),
      attr<&StatefulConvAttrs::dilation>("dilation", "must be 1"), attr<&StatefulConvAttrs::ndim>("ndim", "must be 1"),
      attr<&StatefulConvAttrs::state_window>("state_window", "must be 0")};
};
void stateful_conv_body(CompositeCx& cx);
FRAZIL_OP(CausalConvWithState,
          composite<StatefulConvAttrs>({"CausalConvWithState", 1,
                                        "Depthwise convolution over past and present steps; gives the steps that the "
                                        "next call needs.",
                                        kDomain},
                                       {kCausalConvIn, kCausalConvOut}, stateful_conv_body));

struct FusedLinearAttrs : LinearAttentionAttrs {
  std::int64_t state_window = 0;
  static constexpr std::array fields{LinearAttentionAttrs::fields[0],
                                     LinearAttentionAttrs::fields[1],
                                     LinearAttentionAttrs::fields[2],
                                     LinearAttentionAttrs::fields[3],
                                     attr<&FusedLinearAttrs::state_window>("state_window", "must be 0"),
                                     LinearAttentionAttrs::fields[4]};
};
void fused_linear_body(CompositeCx& cx);
FRAZIL_OP(LinearAttention,
          composite<FusedLinearAttrs>({"LinearAttention", 1,
                                       "Attention without softmax as a recurrence over a matrix state, with decay and "
                                       "delta rule.",
                                       kDomain},
                                      {kLinearAttentionIn, kLinearAttentionOut}, fused_linear_body));

inline constexpr std::array<Port, 2> kExpandDimsIn{{{"X", "T", elems::kTensor}, {"axis", "", one(Elem::i32)}}};
void expand_dims_body(CompositeCx& cx);
FRAZIL_OP(ExpandDims, composite({"ExpandDims", 1, "X with one more axis, of extent 1.", kDomain},
                                {kExpandDimsIn, kPortY<elems::kTensor>}, expand_dims_body));

struct UnfoldTensorAttrs {
  std::int64_t dim = -1;
  std::int64_t size = 1;
  std::int64_t step = 1;
  static constexpr std::array fields{attr<&UnfoldTensorAttrs::dim>("dim", "the axis that is cut"),
                                     required<&UnfoldTensorAttrs::size>("size", "positions of a window"),
                                     attr<&UnfoldTensorAttrs::step>("step", "distance of the windows' starts")};
};
inline constexpr std::array<Port, 1> kUnfoldTensorIn{{{"input", "T", elems::kTensor}}},
    kUnfoldTensorOut{{{"output", "T", elems::kTensor}}};
void unfold_tensor_body(CompositeCx& cx);
FRAZIL_OP(UnfoldTensor,
          composite<UnfoldTensorAttrs>({"UnfoldTensor", 1,
                                        "All windows along an axis; their positions are a last axis.", kDomain},
                                       {kUnfoldTensorIn, kUnfoldTensorOut}, unfold_tensor_body));

struct DistanceAttrs {
  std::string metric = "sqeuclidean";
  static constexpr std::array fields{attr<&DistanceAttrs::metric>("metric", "euclidean or sqeuclidean")};
};
inline constexpr ElemSet kDistanceElems = elems::kF32 | one(Elem::f64);
inline constexpr std::array<Port, 1> kDistanceOut{{{"C", "T", kDistanceElems}}};
void distance_body(CompositeCx& cx);
FRAZIL_OP(CDist, composite<DistanceAttrs>({"CDist", 1, "The distance of each row of A from each row of B.", kDomain},
                                          {kPortAB<kDistanceElems>, kDistanceOut}, distance_body));

}  // namespace frazil::ops::microsoft
