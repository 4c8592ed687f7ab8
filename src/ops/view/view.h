#pragma once

#include <optional>

#include "ir/op/define.h"

// Operators that move, repeat or drop elements without arithmetic, and operators that read or make shapes. The object
// of the ONNX operator Shape is called ShapeOf, because Shape is a type here.
namespace frazil::ops {

inline constexpr std::array<Port, 1> kAnyIn{{{"input", "V"}}}, kAnyOut{{{"output", "V"}}};
FRAZIL_OP(Identity, composite({"Identity", {25, 1}, "The input."}, {kAnyIn, kAnyOut},
                              [](CompositeCx& cx) { cx.out(0, cx.in(0)); }));

inline constexpr std::array<Port, 1> kDataIn{{{"data", "T", elems::kTensor}}};
inline constexpr std::array<Port, 1> kDataOut{{{"output", "T", elems::kTensor}}};
inline constexpr std::array<Port, 1> kI64Out{{{"output", "", elems::kI64}}};

// ---- the same elements with other extents ----
inline constexpr std::array<Port, 2> kReshapeIn{{{"data", "T", elems::kTensor}, {"shape", "", elems::kI64}}};
struct ReshapeAttrs {
  std::int64_t allowzero = 0;
  static constexpr std::array fields{
      attr<&ReshapeAttrs::allowzero>("allowzero", "1: a 0 is an extent and does not copy the input's", 14)};
};
Status reshape_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(Reshape, view<ReshapeAttrs>({"Reshape", {25, 5}, "The same elements in row-major order with other extents."},
                                      {kReshapeIn, kDataOut}, reshape_maps));

struct FlattenAttrs {
  std::int64_t axis = 1;
  static constexpr std::array fields{attr<&FlattenAttrs::axis>("axis", "first axis of the second part")};
};
Status flatten_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(Flatten,
          view<FlattenAttrs>({"Flatten", {25, 1}, "A matrix: the axes before and from `axis` on, each joined."},
                             {kDataIn, kDataOut}, flatten_maps));

inline constexpr std::array<Port, 2> kSqueezeIn{
    {{"data", "T", elems::kTensor}, {"axes", "", elems::kI64, Port::Use::optional}}};
inline constexpr std::array<Port, 2> kUnsqueezeIn{{{"data", "T", elems::kTensor}, {"axes", "", elems::kI64}}};
Status squeeze_maps(InferCx& cx, std::vector<ViewMap>& maps);
Status unsqueeze_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(Squeeze, view({"Squeeze", {25, 13}, "Without the given axes of extent 1, or without all such axes."},
                        {kSqueezeIn, kDataOut}, squeeze_maps));
FRAZIL_OP(Unsqueeze, view({"Unsqueeze", {25, 13}, "With new axes of extent 1 at the given positions of the result."},
                          {kUnsqueezeIn, kDataOut}, unsqueeze_maps));

struct SplitAxisAttrs {
  std::int64_t axis = 0;
  std::int64_t outer = 0;
  std::int64_t inner = 0;
  static constexpr std::array fields{attr<&SplitAxisAttrs::axis>("axis", "the axis to split"),
                                     attr<&SplitAxisAttrs::outer>("outer", "extent of the slow part, or 0"),
                                     attr<&SplitAxisAttrs::inner>("inner", "extent of the fast part, or 0")};
};
Status split_axis_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(SplitAxis,
          view<SplitAxisAttrs>({"SplitAxis", 1, "One axis as two, one of which has a fixed extent.", "frazil"},
                               {kDataIn, kDataOut}, split_axis_maps));

struct MergeAxesAttrs {
  std::int64_t axis = 0;
  std::int64_t count = 2;
  static constexpr std::array fields{attr<&MergeAxesAttrs::axis>("axis", "the first axis to join"),
                                     attr<&MergeAxesAttrs::count>("count", "number of axes to join")};
};
Status merge_axes_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(MergeAxes, view<MergeAxesAttrs>({"MergeAxes", 1, "Adjacent axes joined into one.", "frazil"},
                                          {kDataIn, kDataOut}, merge_axes_maps));

struct FitAttrs {
  std::string name;
  std::int64_t broadcasts = 0;
  static constexpr std::array fields{attr<&FitAttrs::name>("name", "name of the value in messages"),
                                     attr<&FitAttrs::broadcasts>("broadcasts", "1: an extent may also be 1")};
};
Status fit_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(Fit, view<FitAttrs>({"Fit", 1, "The input, checked to have the given extents.", "frazil"},
                              {kReshapeIn, kDataOut}, fit_maps));

// ---- moved, repeated and selected elements ----
struct TransposeAttrs {
  Ints perm;
  static constexpr std::array fields{attr<&TransposeAttrs::perm>("perm", "input axis of each output axis")};
};
Status transpose_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(Transpose, view<TransposeAttrs>({"Transpose", {25, 1}, "The axes in another order; reversed by default."},
                                          {kDataIn, kDataOut}, transpose_maps));

Status expand_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(Expand, view({"Expand", {13, 8}, "Broadcast together with a shape."}, {kReshapeIn, kDataOut}, expand_maps));

inline constexpr std::array<Port, 2> kTileIn{{{"input", "T", elems::kTensor}, {"repeats", "", elems::kI64}}};
Status tile_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(Tile, view({"Tile", {13, 6}, "The input repeated along each axis."}, {kTileIn, kDataOut}, tile_maps));

inline constexpr std::array<Port, 5> kSliceIn{{{"data", "T", elems::kTensor},
                                               {"starts", "Tind", elems::kIndex},
                                               {"ends", "Tind", elems::kIndex},
                                               {"axes", "Tind", elems::kIndex, Port::Use::optional},
                                               {"steps", "Tind", elems::kIndex, Port::Use::optional}}};
Status slice_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(Slice, view({"Slice", {13, 10}, "Every step-th position from starts up to ends, per axis."},
                      {kSliceIn, kDataOut}, slice_maps));

inline constexpr std::array<Port, 2> kSplitIn{
    {{"input", "T", elems::kTensor}, {"split", "", elems::kI64, Port::Use::optional}}};
inline constexpr std::array<Port, 1> kSplitOut{{{"outputs", "T", elems::kTensor, Port::Use::variadic}}};
struct SplitAttrs {
  std::int64_t axis = 0;
  std::optional<std::int64_t> num_outputs;
  static constexpr std::array fields{
      attr<&SplitAttrs::axis>("axis", "the axis to split"),
      attr<&SplitAttrs::num_outputs>("num_outputs", "parts when no sizes are given", 18)};
};
Status split_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(Split, view<SplitAttrs>({"Split", {18, 13}, "Consecutive parts of one axis; equal ones by default."},
                                  {kSplitIn, kSplitOut}, split_maps));

inline constexpr std::array<Port, 1> kConcatIn{{{"inputs", "T", elems::kTensor, Port::Use::variadic}}};
struct ConcatAttrs {
  std::int64_t axis = 0;
  static constexpr std::array fields{required<&ConcatAttrs::axis>("axis", "the axis that grows")};
};
Status concat_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(Concat, view<ConcatAttrs>({"Concat", {13, 4}, "The inputs concatenated along one axis."},
                                    {kConcatIn, kDataOut}, concat_maps));

inline constexpr std::array<Port, 4> kPadIn{{{"data", "T", elems::kTensor},
                                             {"pads", "", elems::kI64},
                                             {"constant_value", "T", elems::kTensor, Port::Use::optional},
                                             {"axes", "Tind", elems::kIndex, Port::Use::optional}}};
struct PadAttrs {
  std::string mode = "constant";
  static constexpr std::array fields{attr<&PadAttrs::mode>("mode", "constant, reflect, edge or wrap")};
};
Status pad_maps(InferCx& cx, std::vector<ViewMap>& maps);
FRAZIL_OP(Pad, view<PadAttrs>({"Pad", {25, 11}, "Positions added before and after each axis; negative counts crop."},
                              {kPadIn, kDataOut}, pad_maps));

struct DepthToSpaceAttrs {
  std::int64_t blocksize = 1;
  std::string mode = "DCR";
  static constexpr std::array fields{
      required<&DepthToSpaceAttrs::blocksize>("blocksize", "edge of the block"),
      attr<&DepthToSpaceAttrs::mode>("mode", "DCR: the block is the slow part of the channels; CRD: the fast one", 11)};
};
struct SpaceToDepthAttrs {
  std::int64_t blocksize = 1;
  static constexpr std::array fields{required<&SpaceToDepthAttrs::blocksize>("blocksize", "edge of the block")};
};
void depth_to_space_body(CompositeCx& cx);
void space_to_depth_body(CompositeCx& cx);
FRAZIL_OP(DepthToSpace,
          composite<DepthToSpaceAttrs>({"DepthToSpace", {13, 1}, "Channels laid out as blocks of pixels."},
                                       {kDataIn, kDataOut}, depth_to_space_body));
FRAZIL_OP(SpaceToDepth,
          composite<SpaceToDepthAttrs>({"SpaceToDepth", {13, 1}, "Blocks of pixels laid out as channels."},
                                       {kDataIn, kDataOut}, space_to_depth_body));

// ---- shapes as values, and values from shapes ----
inline constexpr std::array<Port, 1> kAnyDataIn{{{"data", "T", elems::kTensor, Port::Use::required, true}}};
struct ShapeAttrs {
  std::int64_t start = 0;
  std::optional<std::int64_t> end;
  static constexpr std::array fields{attr<&ShapeAttrs::start>("start", "first axis", 15),
                                     attr<&ShapeAttrs::end>("end", "axis after the last", 15)};
};
Status shape_types(InferCx& cx);
Status shape_run(OpaqueCall& call);
FRAZIL_OP(ShapeOf, opaque<ShapeAttrs>({"Shape", {25, 1}, "The extents of the input."}, {kAnyDataIn, kI64Out},
                                      shape_types, shape_run, "its result is metadata, not computed from elements"));

Status size_types(InferCx& cx);
Status size_run(OpaqueCall& call);
FRAZIL_OP(Size, opaque({"Size", {25, 1}, "The number of elements of the input."}, {kAnyDataIn, kI64Out}, size_types,
                       size_run, "its result is metadata, not computed from elements"));

inline constexpr std::array<Port, 1> kShapeIn{{{"input", "", elems::kI64}}};
struct ConstantOfShapeAttrs {
  std::optional<Tensor> value;
  static constexpr std::array fields{attr<&ConstantOfShapeAttrs::value>("value", "one element; 0 of f32 by default")};
};
void constant_of_shape_body(CompositeCx& cx);
FRAZIL_OP(ConstantOfShape, composite<ConstantOfShapeAttrs>(
                               {"ConstantOfShape", {25, 9}, "A tensor of a given shape filled with one value."},
                               {kShapeIn, kDataOut}, constant_of_shape_body));

inline constexpr ElemSet kRangeElems = elems::kFloat | elems::kIndex | one(Elem::i16);
inline constexpr std::array<Port, 3> kRangeIn{
    {{"start", "T", kRangeElems}, {"limit", "T", kRangeElems}, {"delta", "T", kRangeElems}}};
inline constexpr std::array<Port, 1> kRangeOut{{{"output", "T", kRangeElems}}};
Status range_types(InferCx& cx);
Status range_run(OpaqueCall& call);
FRAZIL_OP(Range, opaque({"Range", 11, "start, start + delta, ... up to but excluding limit."}, {kRangeIn, kRangeOut},
                        range_types, range_run, "its extent depends on its operands' values"));

inline constexpr std::array<Port, 2> kTriluIn{
    {{"input", "T", elems::kTensor}, {"k", "", elems::kI64, Port::Use::optional}}};
struct TriluAttrs {
  std::int64_t upper = 1;
  static constexpr std::array fields{attr<&TriluAttrs::upper>("upper", "1 keeps the upper triangle, 0 the lower")};
};
void trilu_body(CompositeCx& cx);
FRAZIL_OP(Trilu, composite<TriluAttrs>({"Trilu", 14, "The upper or lower triangle of each matrix, 0 elsewhere."},
                                       {kTriluIn, kDataOut}, trilu_body));

inline constexpr std::array<Port, 1> kEyeLikeOut{{{"output", "T2", elems::kTensor}}};
struct EyeLikeAttrs {
  std::optional<Elem> dtype;
  std::int64_t k = 0;
  static constexpr std::array fields{
      attr<&EyeLikeAttrs::dtype>("dtype", "element type; the input's by default"),
      attr<&EyeLikeAttrs::k>("k", "index of the diagonal; positive ones are above the main one")};
};
void eye_like_body(CompositeCx& cx);
FRAZIL_OP(EyeLike,
          composite<EyeLikeAttrs>({"EyeLike", {22, 9}, "1 on a diagonal and 0 elsewhere, in the input's shape."},
                                  {kDataIn, kEyeLikeOut}, eye_like_body));

}  // namespace frazil::ops
