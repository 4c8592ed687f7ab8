#pragma once

#include "ir/op/define.h"

// One step of an optimiser over n tensors. Inputs: learning rate R, number of completed steps T, then n tensors of each
// kind. The formulas are those of the ONNX specification, domain ai.onnx.preview.training.
namespace frazil::ops {

inline constexpr ElemSet kTrained = elems::kF32 | one(Elem::f64);
inline constexpr std::array<Port, 3> kOptimizerIn{
    {{"R", "T1", kTrained}, {"T", "", elems::kI64}, {"inputs", "T3", kTrained, Port::Use::variadic}}};
inline constexpr std::array<Port, 1> kOptimizerOut{{{"outputs", "T3", kTrained, Port::Use::variadic}}};
inline constexpr Ports kOptimizerPorts{kOptimizerIn, kOptimizerOut};

struct AdagradAttrs {
  float decay_factor = 0;
  float epsilon = 1e-6f;
  float norm_coefficient = 0;
  static constexpr std::array fields{
      attr<&AdagradAttrs::decay_factor>("decay_factor", "by which the learning rate falls with T"),
      attr<&AdagradAttrs::epsilon>("epsilon", "added to the root of H"),
      attr<&AdagradAttrs::norm_coefficient>("norm_coefficient", "weight of the L2 penalty")};
};
void adagrad_body(CompositeCx& cx);
FRAZIL_OP(Adagrad, composite<AdagradAttrs>({"Adagrad", 1, "A step with squared gradients summed: X, G, H to X, H.",
                                            "ai.onnx.preview.training"},
                                           kOptimizerPorts, adagrad_body));

struct AdamAttrs {
  float alpha = 0.9f;
  float beta = 0.999f;
  float epsilon = 0;
  float norm_coefficient = 0;
  float norm_coefficient_post = 0;
  static constexpr std::array fields{
      attr<&AdamAttrs::alpha>("alpha", "weight of the old V"), attr<&AdamAttrs::beta>("beta", "weight of the old H"),
      attr<&AdamAttrs::epsilon>("epsilon", "added to the root of H"),
      attr<&AdamAttrs::norm_coefficient>("norm_coefficient", "weight of the L2 penalty"),
      attr<&AdamAttrs::norm_coefficient_post>("norm_coefficient_post", "weight of the penalty after the step")};
};
void adam_body(CompositeCx& cx);
FRAZIL_OP(Adam, composite<AdamAttrs>({"Adam", 1, "A step with running moments of the gradient: X, G, V, H to X, V, H.",
                                      "ai.onnx.preview.training"},
                                     kOptimizerPorts, adam_body));

struct MomentumAttrs {
  float alpha = 0;
  float beta = 0;
  std::string mode = "standard";
  float norm_coefficient = 0;
  static constexpr std::array fields{
      required<&MomentumAttrs::alpha>("alpha", "weight of the old momentum V"),
      required<&MomentumAttrs::beta>("beta", "weight of the gradient, but in the first step"),
      required<&MomentumAttrs::mode>("mode", "standard or nesterov"),
      required<&MomentumAttrs::norm_coefficient>("norm_coefficient", "weight of the L2 penalty")};
};
void momentum_body(CompositeCx& cx);
FRAZIL_OP(Momentum, composite<MomentumAttrs>({"Momentum", 1, "A step with momentum: X, G, V to X, V.",
                                              "ai.onnx.preview.training"},
                                             kOptimizerPorts, momentum_body));

}  // namespace frazil::ops
