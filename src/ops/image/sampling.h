#pragma once

#include "ops/index/index.h"

// Operators that read or write at computed positions: resizing, unpooling, deformable convolution.
namespace frazil::ops {

/// Returns the weight of an element at `distance` for cubic convolution with coefficient `a`.
double cubic_weight(double distance, double a);

struct MaxUnpoolAttrs {
  Ints kernel_shape;
  Ints pads;
  Ints strides;
  static constexpr std::array fields{
      required<&MaxUnpoolAttrs::kernel_shape>("kernel_shape", "the pooling's window"),
      attr<&MaxUnpoolAttrs::pads>("pads", "the pooling's padding: all begins, then all ends; empty: 0"),
      attr<&MaxUnpoolAttrs::strides>("strides", "the pooling's strides; empty: 1"),
  };
};
inline constexpr std::array<Port, 3> kMaxUnpoolIn{{
    {"X", "T1", elems::kFloat},
    {"I", "", elems::kI64},
    {"output_shape", "", elems::kI64, Port::Use::optional},
}};
inline constexpr std::array<Port, 1> kMaxUnpoolOut{{{"output", "T1", elems::kFloat}}};
Status max_unpool_types(InferCx& cx);
Status max_unpool_run(OpaqueCall& call);
FRAZIL_OP(MaxUnpool,
          opaque<MaxUnpoolAttrs>({"MaxUnpool", {22, 9}, "Pooled values at the positions they came from, 0 elsewhere."},
                                 {kMaxUnpoolIn, kMaxUnpoolOut}, max_unpool_types, max_unpool_run, kDataDependentIndex));

struct DeformConvAttrs {
  Ints dilations;
  std::int64_t group = 1;
  Ints kernel_shape;
  std::int64_t offset_group = 1;
  Ints pads;
  Ints strides;
  static constexpr std::array fields{
      attr<&DeformConvAttrs::dilations>("dilations", "empty: 1"),
      attr<&DeformConvAttrs::group>("group", "groups of channels"),
      attr<&DeformConvAttrs::kernel_shape>("kernel_shape", "must agree with W"),
      attr<&DeformConvAttrs::offset_group>("offset_group", "groups of channels that share offsets"),
      attr<&DeformConvAttrs::pads>("pads", "all begins, then all ends; empty: 0"),
      attr<&DeformConvAttrs::strides>("strides", "empty: 1"),
  };
};
inline constexpr std::array<Port, 5> kDeformConvIn{{
    {"X", "T", elems::kFloat},
    {"W", "T", elems::kFloat},
    {"offset", "T", elems::kFloat},
    {"B", "T", elems::kFloat, Port::Use::optional},
    {"mask", "T", elems::kFloat, Port::Use::optional},
}};
Status deform_conv_types(InferCx& cx);
Status deform_conv_run(OpaqueCall& call);
FRAZIL_OP(DeformConv, opaque<DeformConvAttrs>(
                          {"DeformConv", {22, 19}, "2-D convolution whose taps are displaced by given offsets."},
                          {kDeformConvIn, kPortY<elems::kFloat>}, deform_conv_types, deform_conv_run,
                          kDataDependentIndex, Opaque::Work::unknown));

struct ResizeAttrs {
  std::int64_t antialias = 0;
  Ints axes;
  std::string coordinate_transformation_mode = "half_pixel";
  float cubic_coeff_a = -0.75f;
  std::int64_t exclude_outside = 0;
  float extrapolation_value = 0;
  std::string keep_aspect_ratio_policy = "stretch";
  std::string mode = "nearest";
  std::string nearest_mode = "round_prefer_floor";
  static constexpr std::array fields{
      attr<&ResizeAttrs::antialias>("antialias", "1: a wider filter when shrinking", 18),
      attr<&ResizeAttrs::axes>("axes", "the axes of roi, scales and sizes; empty: all axes", 18),
      attr<&ResizeAttrs::coordinate_transformation_mode>("coordinate_transformation_mode",
                                                         "half_pixel, asymmetric, ..."),
      attr<&ResizeAttrs::cubic_coeff_a>("cubic_coeff_a", "of the cubic kernel"),
      attr<&ResizeAttrs::exclude_outside>("exclude_outside", "1: taps outside have no weight"),
      attr<&ResizeAttrs::extrapolation_value>("extrapolation_value", "outside of X, for tf_crop_and_resize"),
      attr<&ResizeAttrs::keep_aspect_ratio_policy>("keep_aspect_ratio_policy", "stretch, not_larger or not_smaller",
                                                   18),
      attr<&ResizeAttrs::mode>("mode", "nearest, linear or cubic"),
      attr<&ResizeAttrs::nearest_mode>("nearest_mode", "round_prefer_floor, round_prefer_ceil, floor or ceil"),
  };
};
inline constexpr std::array<Port, 4> kResizeIn{{
    {"X", "T1", elems::kTensor},
    {"roi", "", elems::kFloat, Port::Use::optional},
    {"scales", "", elems::kF32, Port::Use::optional},
    {"sizes", "", elems::kI64, Port::Use::optional},
}};
inline constexpr std::array<Port, 1> kResizeOut{{{"Y", "T1", elems::kTensor}}};
Status resize_types(InferCx& cx);
Status resize_run(OpaqueCall& call);
FRAZIL_OP(Resize,
          opaque<ResizeAttrs>({"Resize", {19, 13}, "The input resampled to other extents."}, {kResizeIn, kResizeOut},
                              resize_types, resize_run, "positions and weights come from float arithmetic on extents"));

}  // namespace frazil::ops
