#pragma once

#include "ir/op/define.h"

// Operators on images: cropping, padding, blocks, sampling grids.
namespace frazil::ops {

struct CenterCropPadAttrs {
  Ints axes;
  static constexpr std::array fields{attr<&CenterCropPadAttrs::axes>("axes", "the axes of `shape`; empty: all axes")};
};
inline constexpr std::array<Port, 2> kCenterCropPadIn{{
    {"input_data", "T", elems::kTensor},
    {"shape", "", elems::kIndex},
}};
inline constexpr std::array<Port, 1> kCenterCropPadOut{{{"output_data", "T", elems::kTensor}}};
Status center_crop_pad_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(CenterCropPad,
          view<CenterCropPadAttrs>({"CenterCropPad", 18, "The centre of the input, zero-padded where it is too small."},
                                   {kCenterCropPadIn, kCenterCropPadOut}, center_crop_pad_maps));

struct Col2ImAttrs {
  Ints dilations;
  Ints pads;
  Ints strides;
  static constexpr std::array fields{
      attr<&Col2ImAttrs::dilations>("dilations", "steps between the positions of a block; empty: 1"),
      attr<&Col2ImAttrs::pads>("pads", "positions before each axis, then after each; empty: 0"),
      attr<&Col2ImAttrs::strides>("strides", "steps from block to block; empty: 1"),
  };
};
inline constexpr std::array<Port, 3> kCol2ImIn{{
    {"input", "T", elems::kNumeric},
    {"image_shape", "", elems::kI64},
    {"block_shape", "", elems::kI64},
}};
inline constexpr std::array<Port, 1> kCol2ImOut{{{"output", "T", elems::kNumeric}}};
Status col2im_types(InferCx& cx);
Status col2im_run(OpaqueCall& call);
FRAZIL_OP(Col2Im, opaque<Col2ImAttrs>({"Col2Im", 18, "An image as the sum of its blocks, one block in each column."},
                                      {kCol2ImIn, kCol2ImOut}, col2im_types, col2im_run,
                                      "the blocks that cover a position are not an affine function of it"));

struct AffineGridAttrs {
  std::int64_t align_corners = 0;
  static constexpr std::array fields{
      attr<&AffineGridAttrs::align_corners>("align_corners", "1: -1 and 1 are centres of the outer pixels, not edges")};
};
inline constexpr std::array<Port, 2> kAffineGridIn{{{"theta", "T1", elems::kFloat}, {"size", "", elems::kI64}}};
inline constexpr std::array<Port, 1> kAffineGridOut{{{"grid", "T1", elems::kFloat}}};
void affine_grid_body(CompositeCx& cx);
FRAZIL_OP(AffineGrid, composite<AffineGridAttrs>({"AffineGrid", 20,
                                                  "The positions to which an affine map moves the pixels of an image."},
                                                 {kAffineGridIn, kAffineGridOut}, affine_grid_body));

}  // namespace frazil::ops
