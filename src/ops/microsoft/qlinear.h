#pragma once

#include "ops/contraction/contraction.h"
#include "ops/microsoft/microsoft.h"

// Operators on 8-bit integers; each tensor has its own scale and zero point.
namespace frazil::ops::microsoft {

inline constexpr std::array<Port, 8> kQBinaryIn{{{"A", "T", kByte},
                                                 {"A_scale", "", elems::kF32},
                                                 {"A_zero_point", "T", kByte, Port::Use::optional},
                                                 {"B", "T", kByte},
                                                 {"B_scale", "", elems::kF32},
                                                 {"B_zero_point", "T", kByte, Port::Use::optional},
                                                 {"C_scale", "", elems::kF32},
                                                 {"C_zero_point", "T", kByte, Port::Use::optional}}};
inline constexpr std::array<Port, 1> kQBinaryOut{{{"C", "T", kByte}}};
inline constexpr std::array<Port, 5> kQUnaryIn{{{"X", "T", kByte},
                                                {"X_scale", "", elems::kF32},
                                                {"X_zero_point", "T", kByte, Port::Use::optional},
                                                {"Y_scale", "", elems::kF32},
                                                {"Y_zero_point", "T", kByte, Port::Use::optional}}};
inline constexpr Ports kQUnary{kQUnaryIn, kPortY<kByte>};

void qlinear_add_body(CompositeCx& cx);
void qlinear_mul_body(CompositeCx& cx);
void qlinear_sigmoid_body(CompositeCx& cx);
FRAZIL_OP(QLinearAdd, composite({"QLinearAdd", 1, "A + B of quantised numbers, quantised.", kDomain},
                                {kQBinaryIn, kQBinaryOut}, qlinear_add_body));
FRAZIL_OP(QLinearMul, composite({"QLinearMul", 1, "A * B of quantised numbers, quantised.", kDomain},
                                {kQBinaryIn, kQBinaryOut}, qlinear_mul_body));
FRAZIL_OP(QLinearSigmoid, composite({"QLinearSigmoid", 1, "Sigmoid of quantised numbers, quantised.", kDomain}, kQUnary,
                                    qlinear_sigmoid_body));

struct QLeakyReluAttrs {
  float alpha = 0.01f;
  static constexpr std::array fields{attr<&QLeakyReluAttrs::alpha>("alpha", "slope below 0")};
};
void qlinear_leaky_relu_body(CompositeCx& cx);
FRAZIL_OP(QLinearLeakyRelu,
          composite<QLeakyReluAttrs>({"QLinearLeakyRelu", 1, "LeakyRelu of quantised numbers, quantised.", kDomain},
                                     kQUnary, qlinear_leaky_relu_body));

struct QSoftmaxAttrs {
  std::int64_t axis = -1;
  std::optional<std::int64_t> opset;
  static constexpr std::array fields{
      attr<&QSoftmaxAttrs::axis>("axis", "the axis that is normalised, or the first of them below opset 13"),
      required<&QSoftmaxAttrs::opset>("opset", "opset of the Softmax")};
};
void qlinear_softmax_body(CompositeCx& cx);
FRAZIL_OP(QLinearSoftmax,
          composite<QSoftmaxAttrs>({"QLinearSoftmax", 1, "Softmax of quantised numbers, quantised.", kDomain}, kQUnary,
                                   qlinear_softmax_body));

struct QConcatAttrs {
  std::int64_t axis = 0;
  static constexpr std::array fields{required<&QConcatAttrs::axis>("axis", "the axis along which they are joined")};
};
inline constexpr std::array<Port, 3> kQConcatIn{{{"Y_scale", "", elems::kF32},
                                                 {"Y_zero_point", "T8", kByte},
                                                 {"inputs", "", kByte | elems::kF32, Port::Use::variadic}}};
inline constexpr std::array<Port, 1> kQConcatOut{{{"Y", "T8", kByte}}};
void qlinear_concat_body(CompositeCx& cx);
FRAZIL_OP(QLinearConcat,
          composite<QConcatAttrs>({"QLinearConcat", 1,
                                   "Triples of numbers, scale and zero point as one quantised tensor.", kDomain},
                                  {kQConcatIn, kQConcatOut}, qlinear_concat_body));

struct QAveragePoolAttrs : AveragePoolAttrs {
  std::int64_t channels_last = 0;
  static constexpr std::array fields{
      kAutoPad,
      kCeilMode,
      attr<&QAveragePoolAttrs::channels_last>("channels_last", "1: the channels are the last axis"),
      attr<&AveragePoolAttrs::count_include_pad>("count_include_pad", "1: padding counts as 0"),
      kKernelRequired,
      kPads,
      kStrides};
};
void qlinear_average_pool_body(CompositeCx& cx);
FRAZIL_OP(QLinearAveragePool, composite<QAveragePoolAttrs>({"QLinearAveragePool", 1,
                                                            "AveragePool of quantised numbers, quantised.", kDomain},
                                                           kQUnary, qlinear_average_pool_body));

struct ChannelsLastAttrs {
  std::int64_t channels_last = 0;
  static constexpr std::array fields{
      attr<&ChannelsLastAttrs::channels_last>("channels_last", "1: the channels are the last axis")};
};
void qlinear_global_pool_body(CompositeCx& cx);
FRAZIL_OP(QLinearGlobalAveragePool,
          composite<ChannelsLastAttrs>({"QLinearGlobalAveragePool", 1,
                                        "The mean over all spatial axes of quantised numbers, quantised.", kDomain},
                                       kQUnary, qlinear_global_pool_body));

struct QReduceMeanAttrs {
  Ints axes;
  std::optional<std::int64_t> keepdims;
  static constexpr std::array fields{
      required<&QReduceMeanAttrs::axes>("axes", "the axes that are reduced; none: all"),
      required<&QReduceMeanAttrs::keepdims>("keepdims", "1: reduced axes are kept with extent 1")};
};
void qlinear_reduce_mean_body(CompositeCx& cx);
FRAZIL_OP(QLinearReduceMean,
          composite<QReduceMeanAttrs>({"QLinearReduceMean", 1,
                                       "The mean over some axes of quantised numbers, quantised.", kDomain},
                                      kQUnary, qlinear_reduce_mean_body));

inline constexpr std::array<Port, 9> kQWhereIn{{{"condition", "", elems::kBool},
                                                {"X", "T", kByte},
                                                {"x_scale", "", elems::kF32},
                                                {"x_zero_point", "T", kByte},
                                                {"Y", "T", kByte},
                                                {"y_scale", "", elems::kF32},
                                                {"y_zero_point", "T", kByte},
                                                {"z_scale", "", elems::kF32},
                                                {"z_zero_point", "T", kByte}}};
inline constexpr std::array<Port, 1> kQWhereOut{{{"Z", "T", kByte}}};
void qlinear_where_body(CompositeCx& cx);
FRAZIL_OP(QLinearWhere, composite({"QLinearWhere", 1, "Quantised X where the condition holds, else Y.", kDomain},
                                  {kQWhereIn, kQWhereOut}, qlinear_where_body));

struct QConvAttrs : ConvAttrs {
  std::int64_t channels_last = 0;
  static constexpr std::array fields{
      kAutoPad,   attr<&QConvAttrs::channels_last>("channels_last", "1: the channels of x are the last axis"),
      kDilations, attr<&ConvAttrs::group>("group", "number of independent groups of channels"),
      kKernel,    kPads,
      kStrides};
};
void qlinear_conv_body(CompositeCx& cx);
FRAZIL_OP(QLinearConv,
          composite<QConvAttrs>({"QLinearConv", 1, "Convolution of quantised numbers, quantised.", kDomain},
                                {kQLinearConvIn, kQuantOut}, qlinear_conv_body));

struct NhwcPoolAttrs : PoolAttrs {
  static constexpr std::array fields{kAutoPad, kCeilMode, kDilations, kKernelRequired, kPads, kStrides};
};
void nhwc_max_pool_body(CompositeCx& cx);
FRAZIL_OP(NhwcMaxPool,
          composite<NhwcPoolAttrs>({"NhwcMaxPool", 1, "MaxPool whose channels are the last axis.", kDomain},
                                   unary<kByte>, nhwc_max_pool_body));

}  // namespace frazil::ops::microsoft
