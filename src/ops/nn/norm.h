#pragma once

#include "ir/op/define.h"

namespace frazil::ops {

struct SoftmaxAttrs {
  std::int64_t axis = -1;
  static constexpr std::array fields{attr<&SoftmaxAttrs::axis>("axis", "the axis that is normalised")};
};
void softmax_body(CompositeCx& cx);
void log_softmax_body(CompositeCx& cx);
void hardmax_body(CompositeCx& cx);
FRAZIL_OP(Softmax, composite<SoftmaxAttrs>({"Softmax", 13, "exp(x) divided by its sum along one axis."},
                                           unary<elems::kFloat>, softmax_body));
FRAZIL_OP(LogSoftmax, composite<SoftmaxAttrs>({"LogSoftmax", 13, "Logarithm of Softmax, without its underflow."},
                                              unary<elems::kFloat>, log_softmax_body));
FRAZIL_OP(Hardmax, composite<SoftmaxAttrs>({"Hardmax", 13, "1 at the first maximum along one axis, else 0."},
                                           unary<elems::kFloat>, hardmax_body));

struct LayerNormAttrs {
  std::int64_t axis = -1;
  float epsilon = 1e-5f;
  Elem stash_type = Elem::f32;
  static constexpr std::array fields{
      attr<&LayerNormAttrs::axis>("axis", "the first of the axes that are normalised together"),
      attr<&LayerNormAttrs::epsilon>("epsilon", "added to the variance"),
      attr<&LayerNormAttrs::stash_type>("stash_type", "ONNX data type of the statistics"),
  };
};
inline constexpr std::array<Port, 3> kLayerNormIn{{
    {"X", "T", elems::kFloat},
    {"Scale", "T", elems::kFloat},
    {"B", "T", elems::kFloat, Port::Use::optional},
}};
inline constexpr std::array<Port, 3> kLayerNormOut{{
    {"Y", "T", elems::kFloat},
    {"Mean", "", elems::kFloat, Port::Use::optional},
    {"InvStdDev", "", elems::kFloat, Port::Use::optional},
}};
void layer_norm_body(CompositeCx& cx);
FRAZIL_OP(LayerNormalization, composite<LayerNormAttrs>({"LayerNormalization", 17,
                                                         "Zero mean and unit variance over the last axes, then "
                                                         "scale and shift."},
                                                        {kLayerNormIn, kLayerNormOut}, layer_norm_body));

inline constexpr std::array<Port, 2> kRmsNormIn{{{"X", "T", elems::kFloat}, {"scale", "V", elems::kFloat}}};
inline constexpr std::array<Port, 1> kRmsNormOut{{{"Y", "V", elems::kFloat}}};
void rms_norm_body(CompositeCx& cx);
FRAZIL_OP(RMSNormalization,
          composite<LayerNormAttrs>({"RMSNormalization", 23, "Unit mean square over the last axes, then scale."},
                                    {kRmsNormIn, kRmsNormOut}, rms_norm_body));

struct BatchNormAttrs {
  float epsilon = 1e-5f;
  float momentum = 0.9f;
  std::int64_t training_mode = 0;
  static constexpr std::array fields{
      attr<&BatchNormAttrs::epsilon>("epsilon", "added to the variance"),
      attr<&BatchNormAttrs::momentum>("momentum", "weight of the old running statistics in training mode"),
      attr<&BatchNormAttrs::training_mode>("training_mode", "1: statistics come from the batch"),
  };
};
inline constexpr std::array<Port, 5> kBatchNormIn{{
    {"X", "T", elems::kFloat},
    {"scale", "T1", elems::kFloat},
    {"B", "T1", elems::kFloat},
    {"input_mean", "T2", elems::kFloat},
    {"input_var", "T2", elems::kFloat},
}};
inline constexpr std::array<Port, 3> kBatchNormOut{{
    {"Y", "T", elems::kFloat},
    {"running_mean", "T2", elems::kFloat, Port::Use::optional},
    {"running_var", "T2", elems::kFloat, Port::Use::optional},
}};
void batch_norm_body(CompositeCx& cx);
FRAZIL_OP(BatchNormalization, composite<BatchNormAttrs>({"BatchNormalization",
                                                         {15, 14},
                                                         "Normalises each channel (axis 1) by given statistics."},
                                                        {kBatchNormIn, kBatchNormOut}, batch_norm_body));

struct InstanceNormAttrs {
  float epsilon = 1e-5f;
  static constexpr std::array fields{attr<&InstanceNormAttrs::epsilon>("epsilon", "added to the variance")};
};
inline constexpr std::array<Port, 3> kInstanceNormIn{{
    {"input", "T", elems::kFloat},
    {"scale", "T", elems::kFloat},
    {"B", "T", elems::kFloat},
}};
void instance_norm_body(CompositeCx& cx);
FRAZIL_OP(
    InstanceNormalization,
    composite<InstanceNormAttrs>({"InstanceNormalization", {22, 6}, "Normalises each channel of each item separately."},
                                 {kInstanceNormIn, kPortY<elems::kFloat>}, instance_norm_body));

struct GroupNormAttrs {
  float epsilon = 1e-5f;
  std::int64_t num_groups = 1;
  Elem stash_type = Elem::f32;
  static constexpr std::array fields{
      attr<&GroupNormAttrs::epsilon>("epsilon", "added to the variance"),
      required<&GroupNormAttrs::num_groups>("num_groups", "groups that the channels are split into"),
      attr<&GroupNormAttrs::stash_type>("stash_type", "ONNX data type of the statistics"),
  };
};
void group_norm_body(CompositeCx& cx);
FRAZIL_OP(GroupNormalization, composite<GroupNormAttrs>({"GroupNormalization", 21,
                                                         "Normalises groups of channels, then scales and shifts "
                                                         "each channel."},
                                                        {kInstanceNormIn, kPortY<elems::kFloat>}, group_norm_body));

struct LpNormAttrs {
  std::int64_t axis = -1;
  std::int64_t p = 2;
  static constexpr std::array fields{
      attr<&LpNormAttrs::axis>("axis", "the axis that is normalised"),
      attr<&LpNormAttrs::p>("p", "1 or 2"),
  };
};
void lp_norm_body(CompositeCx& cx);
FRAZIL_OP(LpNormalization,
          composite<LpNormAttrs>({"LpNormalization", {22, 1}, "x divided by its p-norm along one axis; 0 stays 0."},
                                 unary<elems::kFloat>, lp_norm_body));

struct MeanVarianceAttrs {
  Ints axes{0, 2, 3};
  static constexpr std::array fields{attr<&MeanVarianceAttrs::axes>("axes", "the axes that are normalised together")};
};
void mean_variance_body(CompositeCx& cx);
FRAZIL_OP(MeanVarianceNormalization, composite<MeanVarianceAttrs>({"MeanVarianceNormalization",
                                                                   {13, 9},
                                                                   "Zero mean and unit deviation over given axes."},
                                                                  unary<elems::kFloat>, mean_variance_body));

}  // namespace frazil::ops
