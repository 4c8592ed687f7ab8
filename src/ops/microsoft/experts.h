#pragma once

#include "ops/microsoft/microsoft.h"
#include "ops/nn/quant.h"

// Mixtures of experts: each row of the input goes through the k networks that a router selects for it. Only experts
// that a row selects are computed.
namespace frazil::ops::microsoft {

/// The attributes that MoE and QMoE share.
struct ExpertAttrs {
  float activation_alpha = 1;
  float activation_beta = 0;
  std::string activation_type = "relu";
  std::int64_t k = 1;
  std::int64_t normalize_routing_weights = 0;
  std::int64_t swiglu_fusion = 0;
  std::optional<float> swiglu_limit;
  std::int64_t use_sparse_mixer = 0;
  static constexpr std::array fields{
      attr<&ExpertAttrs::activation_alpha>("activation_alpha", "swiglu: factor inside the sigmoid"),
      attr<&ExpertAttrs::activation_beta>("activation_beta", "swiglu: added to the linear part"),
      attr<&ExpertAttrs::activation_type>("activation_type", "relu, gelu, silu, swiglu or identity"),
      attr<&ExpertAttrs::k>("k", "experts for each row"),
      attr<&ExpertAttrs::normalize_routing_weights>("normalize_routing_weights", "1: the k weights sum to 1"),
      attr<&ExpertAttrs::swiglu_fusion>(
          "swiglu_fusion", "swiglu: 0: the linear part is of fc3, 1: alternates with the gate, 2: after it"),
      attr<&ExpertAttrs::swiglu_limit>("swiglu_limit", "swiglu: bound of both parts"),
      attr<&ExpertAttrs::use_sparse_mixer>("use_sparse_mixer", "must be 0")};
};
inline constexpr std::array<Port, 8> kMoeIn{{{"input", "T", kHalfOrSingle},
                                             {"router_probs", "T", kHalfOrSingle},
                                             {"fc1_experts_weights", "T", kHalfOrSingle},
                                             {"fc1_experts_bias", "T", kHalfOrSingle, Port::Use::optional},
                                             {"fc2_experts_weights", "T", kHalfOrSingle},
                                             {"fc2_experts_bias", "T", kHalfOrSingle, Port::Use::optional},
                                             {"fc3_experts_weights", "T", kHalfOrSingle, Port::Use::optional},
                                             {"fc3_experts_bias", "T", kHalfOrSingle, Port::Use::optional}}};
inline constexpr std::array<Port, 1> kMoeOut{{{"output", "T", kHalfOrSingle}}};
void moe_body(CompositeCx& cx);
FRAZIL_OP(MoE, composite<ExpertAttrs>({"MoE", 1, "The weighted sum of the k experts that a router selects.", kDomain},
                                      {kMoeIn, kMoeOut}, moe_body));

struct QuantExpertAttrs : ExpertAttrs {
  std::int64_t accuracy_level = 0;
  std::int64_t block_size = 0;
  std::int64_t expert_weight_bits = 4;
  std::string quant_type = "int";
  std::int64_t weights_prepacked = -1;
  static constexpr std::array fields{
      attr<&QuantExpertAttrs::accuracy_level>("accuracy_level", "accuracy level for the input; it is not converted"),
      ExpertAttrs::fields[0],
      ExpertAttrs::fields[1],
      ExpertAttrs::fields[2],
      attr<&QuantExpertAttrs::block_size>("block_size", "weights of a row that share a scale; 0: all"),
      attr<&QuantExpertAttrs::expert_weight_bits>("expert_weight_bits", "bits per weight: 2, 4 or 8"),
      ExpertAttrs::fields[3],
      ExpertAttrs::fields[4],
      attr<&QuantExpertAttrs::quant_type>("quant_type", "must be int"),
      ExpertAttrs::fields[5],
      ExpertAttrs::fields[6],
      ExpertAttrs::fields[7],
      attr<&QuantExpertAttrs::weights_prepacked>("weights_prepacked", "must be -1 or 0: weights in the usual order")};
};
inline constexpr ElemSet kExpertWeights = one(Elem::u8);
inline constexpr std::array<Port, 21> kQMoeIn{{{"input", "T", kHalfOrSingle},
                                               {"router_probs", "T", kHalfOrSingle},
                                               {"fc1_experts_weights", "", kExpertWeights},
                                               {"fc1_scales", "T2", kHalfOrSingle},
                                               {"fc1_experts_bias", "T", kHalfOrSingle, Port::Use::optional},
                                               {"fc2_experts_weights", "", kExpertWeights},
                                               {"fc2_scales", "T2", kHalfOrSingle},
                                               {"fc2_experts_bias", "T", kHalfOrSingle, Port::Use::optional},
                                               {"fc3_experts_weights", "", kExpertWeights, Port::Use::optional},
                                               {"fc3_scales", "T2", kHalfOrSingle, Port::Use::optional},
                                               {"fc3_experts_bias", "T", kHalfOrSingle, Port::Use::optional},
                                               {"fc1_zero_points", "", kExpertWeights, Port::Use::optional},
                                               {"fc2_zero_points", "", kExpertWeights, Port::Use::optional},
                                               {"fc3_zero_points", "", kExpertWeights, Port::Use::optional},
                                               {"router_weights", "T", kHalfOrSingle, Port::Use::optional},
                                               {"fc1_global_scale", "", elems::kF32, Port::Use::optional},
                                               {"fc2_global_scale", "", elems::kF32, Port::Use::optional},
                                               {"fc1_act_scale", "", elems::kF32, Port::Use::optional},
                                               {"fc2_act_scale", "", elems::kF32, Port::Use::optional},
                                               {"fc1_act_block_scale", "", kHalfOrSingle, Port::Use::optional},
                                               {"fc2_act_block_scale", "", kHalfOrSingle, Port::Use::optional}}};
void qmoe_body(CompositeCx& cx);
FRAZIL_OP(QMoE, composite<QuantExpertAttrs>({"QMoE", 1,
                                             "MoE whose weights have few bits and are quantised by rows or "
                                             "blocks of rows.",
                                             kDomain},
                                            {kQMoeIn, kMoeOut}, qmoe_body));

}  // namespace frazil::ops::microsoft
