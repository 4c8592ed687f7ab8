#pragma once

#include "ops/microsoft/microsoft.h"

// Group normalisation as diffusion models use it: fused with an activation and with the addition that precedes it.
namespace frazil::ops::microsoft {

struct FusedGroupNormAttrs {
  std::optional<std::int64_t> activation;
  std::int64_t channels_last = 1;
  float epsilon = 1e-5f;
  std::optional<std::int64_t> groups;
  static constexpr std::array fields{
      required<&FusedGroupNormAttrs::activation>("activation", "0: none, 1: x * sigmoid(x)"),
      attr<&FusedGroupNormAttrs::channels_last>("channels_last", "1: the channels are the last axis"),
      attr<&FusedGroupNormAttrs::epsilon>("epsilon", "added to the variance"),
      required<&FusedGroupNormAttrs::groups>("groups", "groups that the channels are split into")};
};
inline constexpr std::array<Port, 3> kGroupNormIn{
    {{"X", "T", elems::kFloat}, {"gamma", "M", elems::kFloat}, {"beta", "M", elems::kFloat}}};
void fused_group_norm_body(CompositeCx& cx);
FRAZIL_OP(GroupNorm, composite<FusedGroupNormAttrs>({"GroupNorm", 1,
                                                     "An activation of the normalised groups of channels.", kDomain},
                                                    {kGroupNormIn, kPortY<elems::kFloat>}, fused_group_norm_body));

inline constexpr std::array<Port, 5> kSkipGroupNormIn{{{"X", "T", elems::kFloat},
                                                       {"gamma", "M", elems::kFloat},
                                                       {"beta", "M", elems::kFloat},
                                                       {"skip", "T", elems::kFloat},
                                                       {"bias", "T", elems::kFloat, Port::Use::optional}}};
inline constexpr std::array<Port, 2> kSkipGroupNormOut{
    {{"Y", "T", elems::kFloat}, {"S", "T", elems::kFloat, Port::Use::optional}}};
void skip_group_norm_body(CompositeCx& cx);
FRAZIL_OP(SkipGroupNorm, composite<FusedGroupNormAttrs>({"SkipGroupNorm", 1, "GroupNorm of X + skip + bias.", kDomain},
                                                        {kSkipGroupNormIn, kSkipGroupNormOut}, skip_group_norm_body));

}  // namespace frazil::ops::microsoft
