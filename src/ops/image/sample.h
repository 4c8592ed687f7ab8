#pragma once

#include "ops/index/index.h"

// Operators that sample images at computed positions.
namespace frazil::ops {

struct GridSampleAttrs {
  std::int64_t align_corners = 0;
  std::string mode = "linear";
  std::string padding_mode = "zeros";
  static constexpr std::array fields{
      attr<&GridSampleAttrs::align_corners>("align_corners", "1: -1 and 1 are centres of the outer pixels, not edges"),
      attr<&GridSampleAttrs::mode>("mode", "linear, nearest or cubic"),
      attr<&GridSampleAttrs::padding_mode>("padding_mode", "outside: zeros, border or reflection"),
  };
};
inline constexpr std::array<Port, 2> kGridSampleIn{{{"X", "T1", elems::kTensor}, {"grid", "T2", elems::kFloat}}};
inline constexpr std::array<Port, 1> kGridSampleOut{{{"Y", "T1", elems::kTensor}}};
Status grid_sample_types(InferCx& cx);
Status grid_sample_run(OpaqueCall& call);
FRAZIL_OP(GridSample, opaque<GridSampleAttrs>({"GridSample", {22, 20}, "The input sampled at the positions of a grid."},
                                              {kGridSampleIn, kGridSampleOut}, grid_sample_types, grid_sample_run,
                                              kDataDependentIndex));

struct RoiAlignAttrs {
  std::string coordinate_transformation_mode = "half_pixel";
  std::string mode = "avg";
  std::int64_t output_height = 1;
  std::int64_t output_width = 1;
  std::int64_t sampling_ratio = 0;
  float spatial_scale = 1;
  static constexpr std::array fields{
      attr<&RoiAlignAttrs::coordinate_transformation_mode>("coordinate_transformation_mode",
                                                           "half_pixel or output_half_pixel"),
      attr<&RoiAlignAttrs::mode>("mode", "avg or max"),
      attr<&RoiAlignAttrs::output_height>("output_height", "parts of a region along axis 2"),
      attr<&RoiAlignAttrs::output_width>("output_width", "parts of a region along axis 3"),
      attr<&RoiAlignAttrs::sampling_ratio>("sampling_ratio", "samples along each axis of a part; 0: one per pixel"),
      attr<&RoiAlignAttrs::spatial_scale>("spatial_scale", "pixels of X per unit of the regions"),
  };
};
inline constexpr std::array<Port, 3> kRoiAlignIn{{
    {"X", "T1", elems::kFloat},
    {"rois", "T1", elems::kFloat},
    {"batch_indices", "", elems::kI64},
}};
inline constexpr std::array<Port, 1> kRoiOut{{{"Y", "T1", elems::kFloat}}};
Status roi_align_types(InferCx& cx);
Status roi_align_run(OpaqueCall& call);
FRAZIL_OP(RoiAlign,
          opaque<RoiAlignAttrs>({"RoiAlign", {22, 16}, "Regions of images, sampled on a fixed number of parts."},
                                {kRoiAlignIn, kRoiOut}, roi_align_types, roi_align_run, kDataDependentIndex,
                                Opaque::Work::unknown));

struct MaxRoiPoolAttrs {
  Ints pooled_shape;
  float spatial_scale = 1;
  static constexpr std::array fields{
      required<&MaxRoiPoolAttrs::pooled_shape>("pooled_shape", "parts of a region along axes 2 and 3"),
      attr<&MaxRoiPoolAttrs::spatial_scale>("spatial_scale", "pixels of X per unit of the regions"),
  };
};
inline constexpr std::array<Port, 2> kMaxRoiPoolIn{{{"X", "T1", elems::kFloat}, {"rois", "T1", elems::kFloat}}};
Status max_roi_pool_types(InferCx& cx);
Status max_roi_pool_run(OpaqueCall& call);
FRAZIL_OP(MaxRoiPool,
          opaque<MaxRoiPoolAttrs>({"MaxRoiPool", {22, 1}, "The maximum of each part of a region of an image."},
                                  {kMaxRoiPoolIn, kRoiOut}, max_roi_pool_types, max_roi_pool_run, kDataDependentIndex,
                                  Opaque::Work::unknown));

}  // namespace frazil::ops
