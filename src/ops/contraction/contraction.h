#pragma once

#include <optional>

#include "ir/op/define.h"

// Matrix products, window operators and reductions.
namespace frazil::ops {

// ---- matrix products ----
inline constexpr ElemSet kMatElems = elems::kFloat | elems::kIndex | one(Elem::u32) | one(Elem::u64);
inline constexpr ElemSet kByte = one(Elem::u8) | one(Elem::i8);
inline constexpr ElemSet kScaleElems = elems::kF32 | one(Elem::f16) | one(Elem::bf16);
inline constexpr std::array<Port, 1> kI32Out{{{"Y", "", one(Elem::i32)}}};

Status matmul_space(InferCx& cx, Space& space);
FRAZIL_OP(MatMul, contraction<2>({"MatMul", {13, 1}, "The matrix product, batched over leading axes."},
                                 binary<kMatElems>, matmul_space, [](Sx a, Sx b) { return a * b; }));

inline constexpr std::array<Port, 4> kMatMulIntegerIn{{{"A", "T1", kByte},
                                                       {"B", "T2", kByte},
                                                       {"a_zero_point", "T1", kByte, Port::Use::optional},
                                                       {"b_zero_point", "T2", kByte, Port::Use::optional}}};
void matmul_integer_body(CompositeCx& cx);
FRAZIL_OP(MatMulInteger, composite({"MatMulInteger", 10, "The product of 8-bit matrices minus their zero points."},
                                   {kMatMulIntegerIn, kI32Out}, matmul_integer_body));

inline constexpr std::array<Port, 8> kQLinearMatMulIn{{{"a", "T1", kByte},
                                                       {"a_scale", "TS", kScaleElems},
                                                       {"a_zero_point", "T1", kByte},
                                                       {"b", "T2", kByte},
                                                       {"b_scale", "TS", kScaleElems},
                                                       {"b_zero_point", "T2", kByte},
                                                       {"y_scale", "TS", kScaleElems},
                                                       {"y_zero_point", "T3", kByte}}};
inline constexpr std::array<Port, 1> kQuantOut{{{"y", "T3", kByte}}};
void qlinear_matmul_body(CompositeCx& cx);
FRAZIL_OP(QLinearMatMul, composite({"QLinearMatMul", {21, 10}, "The product of quantised matrices, quantised."},
                                   {kQLinearMatMulIn, kQuantOut}, qlinear_matmul_body));

struct GemmAttrs {
  float alpha = 1;
  float beta = 1;
  std::int64_t transA = 0;
  std::int64_t transB = 0;
  static constexpr std::array fields{attr<&GemmAttrs::alpha>("alpha", "factor of the product"),
                                     attr<&GemmAttrs::beta>("beta", "factor of C"),
                                     attr<&GemmAttrs::transA>("transA", "1: A is transposed first"),
                                     attr<&GemmAttrs::transB>("transB", "1: B is transposed first")};
};
inline constexpr std::array<Port, 3> kGemmIn{
    {{"A", "T", kMatElems}, {"B", "T", kMatElems}, {"C", "T", kMatElems, Port::Use::optional}}};
void gemm_body(CompositeCx& cx);
FRAZIL_OP(Gemm, composite<GemmAttrs>({"Gemm", {13, 7}, "alpha * A * B + beta * C for matrices."},
                                     {kGemmIn, kPortY<kMatElems>}, gemm_body));

// ---- windows ----
/// The attributes that all operators with a sliding window share.
struct WindowAttrs {
  std::string auto_pad = "NOTSET";
  Ints dilations;
  Ints kernel_shape;
  Ints pads;
  Ints strides;
};
inline constexpr AttrField kAutoPad = attr<&WindowAttrs::auto_pad>(
    "auto_pad", "NOTSET: by pads; SAME_UPPER, SAME_LOWER: extent / stride, rounded up; VALID");
inline constexpr AttrField kDilations = attr<&WindowAttrs::dilations>("dilations", "steps between window positions");
/// Returns `field` as an attribute that a later opset introduced than the operator itself.
constexpr AttrField from_opset(int since, AttrField field) {
  field.since = since;
  return field;
}
inline constexpr AttrField kKernel = attr<&WindowAttrs::kernel_shape>("kernel_shape", "extents of the window");
inline constexpr AttrField kKernelRequired =
    required<&WindowAttrs::kernel_shape>("kernel_shape", "extents of the window");
inline constexpr AttrField kPads = attr<&WindowAttrs::pads>("pads", "positions before each axis, then after each");
inline constexpr AttrField kStrides = attr<&WindowAttrs::strides>("strides", "steps from window to window");

struct ConvAttrs : WindowAttrs {
  std::int64_t group = 1;
  static constexpr std::array fields{
      kAutoPad, kDilations, attr<&ConvAttrs::group>("group", "number of independent groups of channels"),
      kKernel,  kPads,      kStrides};
};
inline constexpr ElemSet kConvElems = elems::kFloat | one(Elem::i32);
inline constexpr std::array<Port, 2> kConvSumIn{{{"X", "T", kConvElems}, {"W", "T", kConvElems}}};
inline constexpr std::array<Port, 3> kConvIn{
    {{"X", "T", elems::kFloat}, {"W", "T", elems::kFloat}, {"B", "T", elems::kFloat, Port::Use::optional}}};
Status conv_sum_space(InferCx& cx, Space& space);
void conv_body(CompositeCx& cx);
FRAZIL_OP(ConvSum,
          contraction<2, ConvAttrs>(
              {"ConvSum", 1, "Convolution without bias; with group > 1 the channels have an additional group axis.",
               "frazil"},
              {kConvSumIn, kPortY<kConvElems>}, conv_sum_space, [](Sx x, Sx w) { return x * w; }));
FRAZIL_OP(Conv,
          composite<ConvAttrs>({"Conv", {22, 1}, "Convolution of any number of spatial axes, plus a bias per channel."},
                               {kConvIn, kPortY<elems::kFloat>}, conv_body));

inline constexpr std::array<Port, 4> kConvIntegerIn{{{"x", "T1", kByte},
                                                     {"w", "T2", kByte},
                                                     {"x_zero_point", "T1", kByte, Port::Use::optional},
                                                     {"w_zero_point", "T2", kByte, Port::Use::optional}}};
void conv_integer_body(CompositeCx& cx);
FRAZIL_OP(ConvInteger, composite<ConvAttrs>({"ConvInteger", 10, "Convolution of 8-bit values minus their zero points."},
                                            {kConvIntegerIn, kI32Out}, conv_integer_body));

inline constexpr std::array<Port, 9> kQLinearConvIn{{{"x", "T1", kByte},
                                                     {"x_scale", "", elems::kF32},
                                                     {"x_zero_point", "T1", kByte},
                                                     {"w", "T2", kByte},
                                                     {"w_scale", "", elems::kF32},
                                                     {"w_zero_point", "T2", kByte},
                                                     {"y_scale", "", elems::kF32},
                                                     {"y_zero_point", "T3", kByte},
                                                     {"B", "", one(Elem::i32), Port::Use::optional}}};
void qlinear_conv_body(CompositeCx& cx);
FRAZIL_OP(QLinearConv, composite<ConvAttrs>({"QLinearConv", 10, "Convolution of quantised values, quantised."},
                                            {kQLinearConvIn, kQuantOut}, qlinear_conv_body));

struct ConvTransposeAttrs : WindowAttrs {
  std::int64_t group = 1;
  Ints output_padding;
  Ints output_shape;
  static constexpr std::array fields{
      kAutoPad,
      kDilations,
      attr<&ConvTransposeAttrs::group>("group", "number of independent groups of channels"),
      kKernel,
      attr<&ConvTransposeAttrs::output_padding>("output_padding", "positions added after each axis of the result"),
      attr<&ConvTransposeAttrs::output_shape>("output_shape", "spatial extents of the result; pads follow from it"),
      kPads,
      kStrides};
};
Status conv_transpose_sum_space(InferCx& cx, Space& space);
void conv_transpose_body(CompositeCx& cx);
FRAZIL_OP(ConvTransposeSum,
          contraction<2, ConvTransposeAttrs>(
              {"ConvTransposeSum", 1, "Transposed convolution of an input whose pixels are a stride apart.", "frazil"},
              {kConvSumIn, kPortY<kConvElems>}, conv_transpose_sum_space, [](Sx x, Sx w) { return x * w; }));
FRAZIL_OP(ConvTranspose, composite<ConvTransposeAttrs>(
                             {"ConvTranspose",
                              {22, 1},
                              "Transposed convolution: every input pixel adds a weighted window to the result."},
                             {kConvIn, kPortY<elems::kFloat>}, conv_transpose_body));

/// The attributes of pools.
struct PoolAttrs : WindowAttrs {
  std::int64_t ceil_mode = 0;
};
inline constexpr AttrField kCeilMode =
    attr<&PoolAttrs::ceil_mode>("ceil_mode", "1: the last window may extend past the end", 10);

struct MaxPoolAttrs : PoolAttrs {
  std::int64_t storage_order = 0;
  static constexpr std::array fields{
      kAutoPad,
      kCeilMode,
      from_opset(10, kDilations),
      kKernelRequired,
      kPads,
      attr<&MaxPoolAttrs::storage_order>("storage_order", "how Indices count spatial positions; 1: first axis fastest"),
      kStrides};
};
inline constexpr ElemSet kMaxPoolElems = elems::kFloat | kByte;
inline constexpr std::array<Port, 2> kMaxPoolOut{
    {{"Y", "T", kMaxPoolElems}, {"Indices", "I", elems::kI64, Port::Use::optional}}};
Status max_pool_space(InferCx& cx, Space& space);
FRAZIL_OP(MaxPool,
          contraction<1, MaxPoolAttrs>({"MaxPool", {22, 8}, "The largest value of each window and its position."},
                                       {kPortX<kMaxPoolElems>, kMaxPoolOut}, max_pool_space, [](Sx x) { return x; }));

struct AveragePoolAttrs : PoolAttrs {
  std::int64_t count_include_pad = 0;
  static constexpr std::array fields{
      kAutoPad,
      kCeilMode,
      attr<&AveragePoolAttrs::count_include_pad>("count_include_pad", "1: padding counts as 0"),
      from_opset(19, kDilations),
      kKernelRequired,
      kPads,
      kStrides};
};
Status sum_pool_space(InferCx& cx, Space& space);
Status count_pool_space(InferCx& cx, Space& space);
void average_pool_body(CompositeCx& cx);
FRAZIL_OP(SumPool, contraction<1, AveragePoolAttrs>({"SumPool", 1, "The sum of each window.", "frazil"},
                                                    unary<elems::kFloat>, sum_pool_space, [](Sx x) { return x; }));
FRAZIL_OP(CountPool, contraction<1, AveragePoolAttrs>(
                         {"CountPool", 1,
                          "How many positions each window has; with count_include_pad X is padded already.", "frazil"},
                         unary<elems::kFloat>, count_pool_space, [](Sx x) { return lit(x, 1); }));
FRAZIL_OP(AveragePool, composite<AveragePoolAttrs>({"AveragePool", {22, 7}, "The mean of each window."},
                                                   unary<elems::kFloat>, average_pool_body));

struct LpPoolAttrs : PoolAttrs {
  std::int64_t p = 2;
  static constexpr std::array fields{kAutoPad,
                                     from_opset(18, kCeilMode),
                                     from_opset(18, kDilations),
                                     kKernelRequired,
                                     attr<&LpPoolAttrs::p>("p", "the norm"),
                                     kPads,
                                     kStrides};
};
Status power_pool_space(InferCx& cx, Space& space);
Sx power_of(Sx x, std::int64_t p);
void lp_pool_body(CompositeCx& cx);
FRAZIL_OP(PowerPool, contraction<1, LpPoolAttrs>({"PowerPool", 1, "The sum of |X|^p over each window.", "frazil"},
                                                 unary<elems::kFloat>, power_pool_space,
                                                 [](Sx x, const LpPoolAttrs& a) { return power_of(x, a.p); }));
FRAZIL_OP(LpPool, composite<LpPoolAttrs>({"LpPool", {22, 2}, "The p-norm of each window."}, unary<elems::kFloat>,
                                         lp_pool_body));

struct GlobalLpPoolAttrs {
  std::int64_t p = 2;
  static constexpr std::array fields{attr<&GlobalLpPoolAttrs::p>("p", "the norm")};
};
void global_average_pool_body(CompositeCx& cx);
void global_max_pool_body(CompositeCx& cx);
void global_lp_pool_body(CompositeCx& cx);
FRAZIL_OP(GlobalAveragePool, composite({"GlobalAveragePool", {22, 1}, "The mean over all spatial axes."},
                                       unary<elems::kFloat>, global_average_pool_body));
FRAZIL_OP(GlobalMaxPool, composite({"GlobalMaxPool", {22, 1}, "The maximum over all spatial axes."},
                                   unary<elems::kFloat>, global_max_pool_body));
FRAZIL_OP(GlobalLpPool, composite<GlobalLpPoolAttrs>({"GlobalLpPool", {22, 2}, "The p-norm over all spatial axes."},
                                                     unary<elems::kFloat>, global_lp_pool_body));

struct LrnAttrs {
  float alpha = 0.0001f;
  float beta = 0.75f;
  float bias = 1;
  std::int64_t size = 1;
  static constexpr std::array fields{attr<&LrnAttrs::alpha>("alpha", "factor of the mean square"),
                                     attr<&LrnAttrs::beta>("beta", "exponent"), attr<&LrnAttrs::bias>("bias", "offset"),
                                     required<&LrnAttrs::size>("size", "how many channels count")};
};
Status channel_squares_space(InferCx& cx, Space& space);
void lrn_body(CompositeCx& cx);
FRAZIL_OP(ChannelSquares,
          contraction<1, LrnAttrs>({"ChannelSquares", 1, "Squares summed over nearby channels.", "frazil"},
                                   unary<elems::kFloat>, channel_squares_space, [](Sx x) { return x * x; }));
FRAZIL_OP(LRN,
          composite<LrnAttrs>({"LRN", {13, 1}, "Each value divided by a power of the mean square of nearby channels."},
                              unary<elems::kFloat>, lrn_body));

// ---- reductions ----
struct ReduceAttrs {
  std::int64_t keepdims = 1;
  std::int64_t noop_with_empty_axes = 0;
  static constexpr std::array fields{
      attr<&ReduceAttrs::keepdims>("keepdims", "1: reduced axes are kept with extent 1"),
      attr<&ReduceAttrs::noop_with_empty_axes>("noop_with_empty_axes", "without axes: 1 reduces none, 0 all")};
};
template <ElemSet S>
inline constexpr std::array<Port, 2> kReduceIn{{{"data", "T", S}, {"axes", "", elems::kI64, Port::Use::optional}}};
template <ElemSet S>
inline constexpr Ports reducing{kReduceIn<S>, kPortY<S>};
inline constexpr ElemSet kExtremeElems = kMatElems | kByte | elems::kBool;

/// Builds the space of a reduction, whose axes are input 1. On bools, max is `any` and min is `all`.
Status reduce_space(InferCx& cx, Space& space, Fold fold);
template <Fold F>
Status reduce_by(InferCx& cx, Space& space) {
  return reduce_space(cx, space, F);
}
FRAZIL_OP(ReduceSum, contraction<1, ReduceAttrs>({"ReduceSum", 13, "The sum over some axes."}, reducing<kMatElems>,
                                                 reduce_by<Fold::sum>, [](Sx x) { return x; }));
FRAZIL_OP(ReduceProd, contraction<1, ReduceAttrs>({"ReduceProd", 18, "The product over some axes."},
                                                  reducing<kMatElems>, reduce_by<Fold::prod>, [](Sx x) { return x; }));
FRAZIL_OP(ReduceMax,
          contraction<1, ReduceAttrs>({"ReduceMax", {20, 18}, "The maximum over some axes."}, reducing<kExtremeElems>,
                                      reduce_by<Fold::max>, [](Sx x) { return x; }));
FRAZIL_OP(ReduceMin,
          contraction<1, ReduceAttrs>({"ReduceMin", {20, 18}, "The minimum over some axes."}, reducing<kExtremeElems>,
                                      reduce_by<Fold::min>, [](Sx x) { return x; }));
FRAZIL_OP(ReduceL1,
          contraction<1, ReduceAttrs>({"ReduceL1", 18, "The sum of magnitudes over some axes."}, reducing<kMatElems>,
                                      reduce_by<Fold::sum>, [](Sx x) { return abs(x); }));
FRAZIL_OP(ReduceSumSquare,
          contraction<1, ReduceAttrs>({"ReduceSumSquare", 18, "The sum of squares over some axes."},
                                      reducing<kMatElems>, reduce_by<Fold::sum>, [](Sx x) { return x * x; }));

Status reduced_count_types(InferCx& cx);
Status reduced_count_run(OpaqueCall& call);
inline constexpr std::array<Port, 2> kCountIn{
    {{"data", "T", elems::kTensor}, {"axes", "", elems::kI64, Port::Use::optional}}};
inline constexpr std::array<Port, 1> kCountOut{{{"count", "", elems::kI64}}};
FRAZIL_OP(ReducedCount,
          opaque<ReduceAttrs>({"ReducedCount", 1, "The number of elements that a reduction folds into one.", "frazil"},
                              {kCountIn, kCountOut}, reduced_count_types, reduced_count_run,
                              "its result is metadata, not computed from elements"));

void reduce_mean_body(CompositeCx& cx);
void reduce_l2_body(CompositeCx& cx);
void reduce_log_sum_body(CompositeCx& cx);
void reduce_log_sum_exp_body(CompositeCx& cx);
FRAZIL_OP(ReduceMean, composite<ReduceAttrs>({"ReduceMean", 18, "The mean over some axes."}, reducing<kMatElems>,
                                             reduce_mean_body));
FRAZIL_OP(ReduceL2, composite<ReduceAttrs>({"ReduceL2", 18, "The Euclidean norm over some axes."}, reducing<kMatElems>,
                                           reduce_l2_body));
FRAZIL_OP(ReduceLogSum, composite<ReduceAttrs>({"ReduceLogSum", 18, "The logarithm of the sum over some axes."},
                                               reducing<kMatElems>, reduce_log_sum_body));
FRAZIL_OP(ReduceLogSumExp, composite<ReduceAttrs>({"ReduceLogSumExp", 18, "log(sum(e^X)) over some axes."},
                                                  reducing<kMatElems>, reduce_log_sum_exp_body));

struct ArgAttrs {
  std::int64_t axis = 0;
  std::int64_t keepdims = 1;
  std::int64_t select_last_index = 0;
  static constexpr std::array fields{
      attr<&ArgAttrs::axis>("axis", "the axis to search"),
      attr<&ArgAttrs::keepdims>("keepdims", "1: the axis is kept with extent 1"),
      attr<&ArgAttrs::select_last_index>("select_last_index", "1: the last of equal ones, else the first", 12)};
};
inline constexpr Ports kArgPorts{kPortX<elems::kNumeric>, kCountOut};
Status arg_space(InferCx& cx, Space& space, Fold fold);
template <Fold F>
Status arg_by(InferCx& cx, Space& space) {
  return arg_space(cx, space, F);
}
FRAZIL_OP(ArgMax, contraction<1, ArgAttrs>({"ArgMax", {13, 11}, "The index of the maximum along an axis."}, kArgPorts,
                                           arg_by<Fold::argmax>, [](Sx x) { return x; }));
FRAZIL_OP(ArgMin, contraction<1, ArgAttrs>({"ArgMin", {13, 11}, "The index of the minimum along an axis."}, kArgPorts,
                                           arg_by<Fold::argmin>, [](Sx x) { return x; }));

}  // namespace frazil::ops
