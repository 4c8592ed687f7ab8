#pragma once

#include "ops/contraction/contraction.h"
#include "ops/microsoft/microsoft.h"

// Matrix products that ONNX Runtime fuses with surrounding operators.
namespace frazil::ops::microsoft {

struct FusedMatMulAttrs {
  float alpha = 1;
  std::int64_t transA = 0;
  std::int64_t transB = 0;
  std::int64_t transBatchA = 0;
  std::int64_t transBatchB = 0;
  static constexpr std::array fields{
      attr<&FusedMatMulAttrs::alpha>("alpha", "factor of the product"),
      attr<&FusedMatMulAttrs::transA>("transA", "1: A's last two axes are swapped"),
      attr<&FusedMatMulAttrs::transB>("transB", "1: B's last two axes are swapped"),
      attr<&FusedMatMulAttrs::transBatchA>("transBatchA", "1: A's first axis comes after its batch axes"),
      attr<&FusedMatMulAttrs::transBatchB>("transBatchB", "1: B's first axis comes after its batch axes")};
};
struct TransposeMatMulAttrs {
  float alpha = 1;
  std::int64_t transA = 0;
  std::int64_t transB = 0;
  static constexpr std::array fields{attr<&TransposeMatMulAttrs::alpha>("alpha", "factor of the product"),
                                     attr<&TransposeMatMulAttrs::transA>("transA", "1: A's last two axes are swapped"),
                                     attr<&TransposeMatMulAttrs::transB>("transB", "1: B's last two axes are swapped")};
};
void fused_matmul_body(CompositeCx& cx);
void transpose_matmul_body(CompositeCx& cx);
FRAZIL_OP(FusedMatMul,
          composite<FusedMatMulAttrs>({"FusedMatMul", 1, "alpha * A * B, of transposed matrices.", kDomain},
                                      binary<elems::kFloat>, fused_matmul_body));
FRAZIL_OP(TransposeMatMul,
          composite<TransposeMatMulAttrs>({"TransposeMatMul", 1, "alpha * A * B, of transposed matrices.", kDomain},
                                          binary<elems::kFloat>, transpose_matmul_body));

struct FusedConvAttrs : ConvAttrs {
  std::string activation;
  Floats activation_params;
  static constexpr std::array fields{
      attr<&FusedConvAttrs::activation>("activation", "Relu, Tanh, Sigmoid, LeakyRelu, Clip or HardSigmoid"),
      attr<&FusedConvAttrs::activation_params>("activation_params", "alpha and beta, or the bounds of Clip"),
      kAutoPad,
      kDilations,
      attr<&ConvAttrs::group>("group", "number of independent groups of channels"),
      kKernel,
      kPads,
      kStrides};
};
inline constexpr std::array<Port, 4> kFusedConvIn{{{"X", "T", elems::kFloat},
                                                   {"W", "T", elems::kFloat},
                                                   {"B", "T", elems::kFloat, Port::Use::optional},
                                                   {"Z", "T", elems::kFloat, Port::Use::optional}}};
void fused_conv_body(CompositeCx& cx);
FRAZIL_OP(FusedConv, composite<FusedConvAttrs>({"FusedConv", 1, "An activation of a convolution plus Z.", kDomain},
                                               {kFusedConvIn, kPortY<elems::kFloat>}, fused_conv_body));

void nhwc_conv_body(CompositeCx& cx);
void nhwc_fused_conv_body(CompositeCx& cx);
FRAZIL_OP(NhwcConv, composite<ConvAttrs>({"NhwcConv", 1,
                                          "Convolution with the channels of X, W and Y in the last axis.", kDomain},
                                         {kConvIn, kPortY<elems::kFloat>}, nhwc_conv_body));
FRAZIL_OP(NhwcFusedConv,
          composite<FusedConvAttrs>({"NhwcFusedConv", 1, "FusedConv with the channels of X, Z and Y in the last axis.",
                                     kDomain},
                                    {kFusedConvIn, kPortY<elems::kFloat>}, nhwc_fused_conv_body));

struct FusedGemmAttrs : GemmAttrs {
  std::string activation;
  std::optional<float> activation_alpha;
  std::optional<float> activation_beta;
  std::optional<float> activation_gamma;
  static constexpr std::array fields{attr<&FusedGemmAttrs::activation>("activation", "an activation of ai.onnx"),
                                     attr<&FusedGemmAttrs::activation_alpha>("activation_alpha", "its alpha"),
                                     attr<&FusedGemmAttrs::activation_beta>("activation_beta", "its beta"),
                                     attr<&FusedGemmAttrs::activation_gamma>("activation_gamma", "its gamma"),
                                     attr<&GemmAttrs::alpha>("alpha", "factor of the product"),
                                     attr<&GemmAttrs::beta>("beta", "factor of C"),
                                     attr<&GemmAttrs::transA>("transA", "1: A is transposed first"),
                                     attr<&GemmAttrs::transB>("transB", "1: B is transposed first")};
};
inline constexpr std::array<Port, 3> kFusedGemmIn{
    {{"A", "T", elems::kFloat}, {"B", "T", elems::kFloat}, {"C", "T", elems::kFloat, Port::Use::optional}}};
void fused_gemm_body(CompositeCx& cx);
FRAZIL_OP(FusedGemm, composite<FusedGemmAttrs>({"FusedGemm", 1, "An activation of Gemm.", kDomain},
                                               {kFusedGemmIn, kPortY<elems::kFloat>}, fused_gemm_body));

}  // namespace frazil::ops::microsoft
