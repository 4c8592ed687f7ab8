#pragma once

#include "ir/op/define.h"

// Losses over classes. The input is [N, C, d1, ...]; the target is [N, d1, ...] and holds class numbers.
namespace frazil::ops {

struct LossAttrs {
  std::optional<std::int64_t> ignore_index;
  std::string reduction = "mean";
  static constexpr std::array fields{
      attr<&LossAttrs::ignore_index>("ignore_index", "the class number to ignore"),
      attr<&LossAttrs::reduction>("reduction", "none, sum, or mean: the sum divided by the sum of the weights")};
};

inline constexpr std::array<Port, 3> kNllIn{{{"input", "T", elems::kFloat},
                                             {"target", "Tind", elems::kIndex},
                                             {"weight", "T", elems::kFloat, Port::Use::optional}}};
inline constexpr std::array<Port, 1> kLossOut{{{"loss", "T", elems::kFloat}}};
void nll_loss_body(CompositeCx& cx);
FRAZIL_OP(NegativeLogLikelihoodLoss,
          composite<LossAttrs>({"NegativeLogLikelihoodLoss", {22, 12}, "Minus the weighted logarithm at each target."},
                               {kNllIn, kLossOut}, nll_loss_body));

inline constexpr std::array<Port, 3> kCrossEntropyIn{{{"scores", "T", elems::kFloat},
                                                      {"labels", "Tind", elems::kIndex},
                                                      {"weights", "T", elems::kFloat, Port::Use::optional}}};
inline constexpr std::array<Port, 2> kCrossEntropyOut{
    {{"output", "T", elems::kFloat}, {"log_prob", "T", elems::kFloat, Port::Use::optional}}};
void cross_entropy_body(CompositeCx& cx);
FRAZIL_OP(SoftmaxCrossEntropyLoss,
          composite<LossAttrs>({"SoftmaxCrossEntropyLoss", {13, 12}, "NegativeLogLikelihoodLoss of LogSoftmax."},
                               {kCrossEntropyIn, kCrossEntropyOut}, cross_entropy_body));

}  // namespace frazil::ops
