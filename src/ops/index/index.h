#pragma once

#include "ir/op/define.h"

namespace frazil::ops {

inline constexpr std::string_view kDataDependentIndex = "which element is read or written depends on data";
inline constexpr std::string_view kDataDependentExtent = "the output's extent depends on data";

struct GatherAttrs {
  std::int64_t axis = 0;
  static constexpr std::array fields{attr<&GatherAttrs::axis>("axis", "the axis that is indexed")};
};
inline constexpr std::array<Port, 2> kGatherIn{{{"data", "T", elems::kTensor}, {"indices", "I", elems::kIndex}}};
inline constexpr std::array<Port, 2> kGatherNdIn{{{"data", "T", elems::kTensor}, {"indices", "", elems::kI64}}};
inline constexpr Ports kGatherPorts{kGatherIn, kPortY<elems::kTensor>};
Status gather_types(InferCx& cx);
Status gather_run(OpaqueCall& call);
FRAZIL_OP(Gather, opaque<GatherAttrs>({"Gather", {13, 1}, "Slices of one axis, selected by index."}, kGatherPorts,
                                      gather_types, gather_run, kDataDependentIndex));

Status gather_elements_types(InferCx& cx);
Status gather_elements_run(OpaqueCall& call);
FRAZIL_OP(GatherElements,
          opaque<GatherAttrs>(
              {"GatherElements", {13, 11}, "Elements whose position along one axis is read from an index tensor."},
              kGatherPorts, gather_elements_types, gather_elements_run, kDataDependentIndex));

struct GatherNdAttrs {
  std::int64_t batch_dims = 0;
  static constexpr std::array fields{
      attr<&GatherNdAttrs::batch_dims>("batch_dims", "number of leading axes that both share")};
};
Status gather_nd_types(InferCx& cx);
Status gather_nd_run(OpaqueCall& call);
FRAZIL_OP(GatherND, opaque<GatherNdAttrs>({"GatherND", {13, 12}, "Slices selected by index tuples over several axes."},
                                          {kGatherNdIn, kPortY<elems::kTensor>}, gather_nd_types, gather_nd_run,
                                          kDataDependentIndex));

struct ScatterElementsAttrs {
  std::int64_t axis = 0;
  std::string reduction = "none";
  static constexpr std::array fields{
      attr<&ScatterElementsAttrs::axis>("axis", "the axis that is indexed"),
      attr<&ScatterElementsAttrs::reduction>("reduction", "none, add, mul, max or min", 16),
  };
};
inline constexpr std::array<Port, 3> kScatterIn{{
    {"data", "T", elems::kTensor},
    {"indices", "I", elems::kIndex},
    {"updates", "T", elems::kTensor},
}};
Status scatter_elements_types(InferCx& cx);
Status scatter_elements_run(OpaqueCall& call);
FRAZIL_OP(ScatterElements,
          opaque<ScatterElementsAttrs>({"ScatterElements", {18, 11}, "Data with single elements replaced or reduced."},
                                       {kScatterIn, kPortY<elems::kTensor>}, scatter_elements_types,
                                       scatter_elements_run, kDataDependentIndex));

struct ScatterNdAttrs {
  std::string reduction = "none";
  static constexpr std::array fields{attr<&ScatterNdAttrs::reduction>("reduction", "none, add, mul, max or min", 16)};
};
inline constexpr std::array<Port, 3> kScatterNdIn{{
    {"data", "T", elems::kTensor},
    {"indices", "", elems::kI64},
    {"updates", "T", elems::kTensor},
}};
Status scatter_nd_types(InferCx& cx);
Status scatter_nd_run(OpaqueCall& call);
FRAZIL_OP(ScatterND, opaque<ScatterNdAttrs>({"ScatterND",
                                             {18, 11},
                                             "Data with slices, named by index tuples, replaced or "
                                             "reduced."},
                                            {kScatterNdIn, kPortY<elems::kTensor>}, scatter_nd_types, scatter_nd_run,
                                            kDataDependentIndex));

struct TensorScatterAttrs {
  std::int64_t axis = -2;
  std::string mode = "linear";
  static constexpr std::array fields{
      attr<&TensorScatterAttrs::axis>("axis", "the axis along which the cache is written"),
      attr<&TensorScatterAttrs::mode>("mode", "linear or circular"),
  };
};
inline constexpr std::array<Port, 3> kTensorScatterIn{{
    {"past_cache", "T", elems::kTensor},
    {"update", "T", elems::kTensor},
    {"write_indices", "", elems::kI64, Port::Use::optional},
}};
Status tensor_scatter_types(InferCx& cx);
Status tensor_scatter_run(OpaqueCall& call);
FRAZIL_OP(TensorScatter, opaque<TensorScatterAttrs>({"TensorScatter", 24,
                                                     "A cache with new entries written at a place for each batch "
                                                     "item."},
                                                    {kTensorScatterIn, kPortY<elems::kTensor>}, tensor_scatter_types,
                                                    tensor_scatter_run, kDataDependentIndex));

struct ReverseSequenceAttrs {
  std::int64_t batch_axis = 1;
  std::int64_t time_axis = 0;
  static constexpr std::array fields{
      attr<&ReverseSequenceAttrs::batch_axis>("batch_axis", "0 or 1"),
      attr<&ReverseSequenceAttrs::time_axis>("time_axis", "1 or 0"),
  };
};
inline constexpr std::array<Port, 2> kReverseSequenceIn{{
    {"input", "T", elems::kTensor},
    {"sequence_lens", "", elems::kI64},
}};
Status reverse_sequence_types(InferCx& cx);
Status reverse_sequence_run(OpaqueCall& call);
FRAZIL_OP(ReverseSequence,
          opaque<ReverseSequenceAttrs>({"ReverseSequence", 10, "Reverses the first steps of each batch item."},
                                       {kReverseSequenceIn, kPortY<elems::kTensor>}, reverse_sequence_types,
                                       reverse_sequence_run, kDataDependentIndex));

struct OneHotAttrs {
  std::int64_t axis = -1;
  static constexpr std::array fields{attr<&OneHotAttrs::axis>("axis", "position of the new axis")};
};
inline constexpr std::array<Port, 3> kOneHotIn{{
    {"indices", "T1", elems::kNumeric},
    {"depth", "T2", elems::kNumeric},
    {"values", "T3", elems::kTensor},
}};
inline constexpr std::array<Port, 1> kOneHotOut{{{"output", "T3", elems::kTensor}}};
void one_hot_body(CompositeCx& cx);
FRAZIL_OP(OneHot, composite<OneHotAttrs>({"OneHot", 11, "A new axis that is on at the index and off elsewhere."},
                                         {kOneHotIn, kOneHotOut}, one_hot_body));

inline constexpr std::array<Port, 1> kIndicesOut{{{"Y", "", elems::kI64}}};
Status non_zero_types(InferCx& cx);
Status non_zero_run(OpaqueCall& call);
FRAZIL_OP(NonZero, opaque({"NonZero", {13, 9}, "Indices of the elements that are not zero, one column each."},
                          {kPortX<elems::kTensor>, kIndicesOut}, non_zero_types, non_zero_run, kDataDependentExtent));

struct TopKAttrs {
  std::int64_t axis = -1;
  std::int64_t largest = 1;
  std::int64_t sorted = 1;
  static constexpr std::array fields{
      attr<&TopKAttrs::axis>("axis", "the axis to search"),
      attr<&TopKAttrs::largest>("largest", "0: the smallest", 11),
      attr<&TopKAttrs::sorted>("sorted", "0: unsorted", 11),
  };
};
inline constexpr std::array<Port, 2> kTopKIn{{{"X", "T", elems::kNumeric}, {"K", "", elems::kI64}}};
inline constexpr std::array<Port, 2> kTopKOut{{
    {"Values", "T", elems::kNumeric, Port::Use::optional},
    {"Indices", "", elems::kI64, Port::Use::optional},
}};
Status top_k_types(InferCx& cx);
Status top_k_run(OpaqueCall& call);
FRAZIL_OP(TopK,
          opaque<TopKAttrs>({"TopK", {24, 10}, "The K largest or smallest along one axis; the lower index wins ties."},
                            {kTopKIn, kTopKOut}, top_k_types, top_k_run, "a sort is not a fold over scalars",
                            Opaque::Work::sorting));

struct NmsAttrs {
  std::int64_t center_point_box = 0;
  static constexpr std::array fields{
      attr<&NmsAttrs::center_point_box>("center_point_box", "0: two corners y x y x, 1: centre and size x y w h")};
};
inline constexpr std::array<Port, 5> kNmsIn{{
    {"boxes", "", elems::kF32},
    {"scores", "", elems::kF32},
    {"max_output_boxes_per_class", "", elems::kI64, Port::Use::optional},
    {"iou_threshold", "", elems::kF32, Port::Use::optional},
    {"score_threshold", "", elems::kF32, Port::Use::optional},
}};
Status nms_types(InferCx& cx);
Status nms_run(OpaqueCall& call);
FRAZIL_OP(NonMaxSuppression,
          opaque<NmsAttrs>({"NonMaxSuppression",
                            {11, 10},
                            "The best boxes of each class, without those that overlap a better one too much."},
                           {kNmsIn, kIndicesOut}, nms_types, nms_run, kDataDependentExtent, Opaque::Work::quadratic));

struct CompressAttrs {
  std::optional<std::int64_t> axis;
  static constexpr std::array fields{attr<&CompressAttrs::axis>("axis", "absent: the elements in row-major order")};
};
inline constexpr std::array<Port, 2> kCompressIn{{{"input", "T", elems::kTensor}, {"condition", "", elems::kBool}}};
Status compress_types(InferCx& cx);
Status compress_run(OpaqueCall& call);
FRAZIL_OP(Compress, opaque<CompressAttrs>({"Compress", {11, 9}, "Slices where a condition holds."},
                                          {kCompressIn, kPortY<elems::kTensor>}, compress_types, compress_run,
                                          kDataDependentExtent));

struct UniqueAttrs {
  std::optional<std::int64_t> axis;
  std::int64_t sorted = 1;
  static constexpr std::array fields{
      attr<&UniqueAttrs::axis>("axis", "absent: the elements in row-major order"),
      attr<&UniqueAttrs::sorted>("sorted", "0: in the order in which they occur"),
  };
};
inline constexpr std::array<Port, 4> kUniqueOut{{
    {"Y", "T", elems::kTensor},
    {"indices", "", elems::kI64, Port::Use::optional},
    {"inverse_indices", "", elems::kI64, Port::Use::optional},
    {"counts", "", elems::kI64, Port::Use::optional},
}};
Status unique_types(InferCx& cx);
Status unique_run(OpaqueCall& call);
FRAZIL_OP(Unique, opaque<UniqueAttrs>({"Unique", 11, "The distinct elements or slices, and their positions."},
                                      {kPortX<elems::kTensor>, kUniqueOut}, unique_types, unique_run,
                                      kDataDependentExtent, Opaque::Work::sorting));

}  // namespace frazil::ops
