#pragma once

#include "ops/elementwise/nn.h"
#include "ops/microsoft/microsoft.h"

// Activations that ONNX Runtime fuses with the operators that produce their inputs.
namespace frazil::ops::microsoft {

FRAZIL_OP(Gelu, elementwise<1>({"Gelu", 1, "X weighted by the normal distribution function at X.", kDomain},
                               unary<elems::kFloat>, [](Sx x) { return gelu_body(x, GeluAttrs{}); }));

struct QuickGeluAttrs {
  float alpha = 1.702f;
  static constexpr std::array fields{attr<&QuickGeluAttrs::alpha>("alpha", "factor inside the sigmoid")};
};
FRAZIL_OP(QuickGelu, elementwise<1, QuickGeluAttrs>({"QuickGelu", 1, "X * sigmoid(alpha * X).", kDomain},
                                                    unary<elems::kFloat>, [](Sx x, const QuickGeluAttrs& a) {
                                                      return x * logistic(double{a.alpha} * x);
                                                    }));

inline constexpr std::array<Port, 2> kFastGeluIn{
    {{"X", "T", elems::kFloat}, {"bias", "T", elems::kFloat, Port::Use::optional}}};
void fast_gelu_body(CompositeCx& cx);
FRAZIL_OP(FastGelu, composite({"FastGelu", 1, "Gelu of X + bias, by its tanh form.", kDomain},
                              {kFastGeluIn, kPortY<elems::kFloat>}, fast_gelu_body));

void bias_gelu_body(CompositeCx& cx);
FRAZIL_OP(BiasGelu, composite({"BiasGelu", 1, "Gelu of A + B, B along the last axis.", kDomain}, binary<elems::kFloat>,
                              bias_gelu_body));

inline constexpr std::array<Port, 2> kBiasIn{{{"X", "T", elems::kFloat}, {"bias", "T", elems::kFloat}}};
void bias_split_gelu_body(CompositeCx& cx);
FRAZIL_OP(BiasSplitGelu,
          composite({"BiasSplitGelu", 1, "The first half of X + bias along the last axis times Gelu of the second.",
                     kDomain},
                    {kBiasIn, kPortY<elems::kFloat>}, bias_split_gelu_body));

inline constexpr std::array<Port, 3> kBiasAddIn{
    {{"X", "T", elems::kFloat}, {"bias", "T", elems::kFloat}, {"skip", "T", elems::kFloat}}};
void bias_add_body(CompositeCx& cx);
FRAZIL_OP(BiasAdd, composite({"BiasAdd", 1, "X + bias + skip, bias along the last axis.", kDomain},
                             {kBiasAddIn, kPortY<elems::kFloat>}, bias_add_body));

}  // namespace frazil::ops::microsoft
