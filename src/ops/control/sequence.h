#pragma once

#include "ir/op/define.h"

namespace frazil::ops {

inline constexpr std::string_view kNotNumbers = "values that are not numbers";

inline constexpr std::array<Port, 1> kSequencePort{{{"sequence", "", 0}}};
inline constexpr std::array<Port, 1> kTensorOut{{{"tensor", "", 0}}};

inline constexpr std::array<Port, 1> kSequenceItems{{{"inputs", "T", elems::kTensor, Port::Use::variadic}}};
Status sequence_construct_types(InferCx& cx);
Status sequence_construct_run(OpaqueCall& call);
FRAZIL_OP(SequenceConstruct,
          opaque({"SequenceConstruct", 11, "A sequence of the inputs."}, {kSequenceItems, kSequencePort},
                 sequence_construct_types, sequence_construct_run, kNotNumbers));

struct SequenceEmptyAttrs {
  Elem dtype = Elem::f32;
  static constexpr std::array fields{attr<&SequenceEmptyAttrs::dtype>("dtype", "ONNX data type of the items to come")};
};
Status sequence_empty_types(InferCx& cx);
Status sequence_empty_run(OpaqueCall& call);
FRAZIL_OP(SequenceEmpty,
          opaque<SequenceEmptyAttrs>({"SequenceEmpty", 11, "A sequence without items."}, {{}, kSequencePort},
                                     sequence_empty_types, sequence_empty_run, kNotNumbers));

inline constexpr std::array<Port, 3> kSequenceInsertIn{{
    {"input_sequence", "", 0},
    {"tensor", "", elems::kTensor},
    {"position", "", elems::kIndex, Port::Use::optional},
}};
Status sequence_insert_types(InferCx& cx);
Status sequence_insert_run(OpaqueCall& call);
FRAZIL_OP(SequenceInsert,
          opaque({"SequenceInsert", 11, "A sequence with one more item, at the end or at a position."},
                 {kSequenceInsertIn, kSequencePort}, sequence_insert_types, sequence_insert_run, kNotNumbers));

inline constexpr std::array<Port, 2> kSequenceAtIn{{{"input_sequence", "", 0}, {"position", "", elems::kIndex}}};
Status sequence_at_types(InferCx& cx);
Status sequence_at_run(OpaqueCall& call);
FRAZIL_OP(SequenceAt, opaque({"SequenceAt", 11, "One item; negative positions count from the end."},
                             {kSequenceAtIn, kTensorOut}, sequence_at_types, sequence_at_run, kNotNumbers));

inline constexpr std::array<Port, 2> kSequenceEraseIn{{
    {"input_sequence", "", 0},
    {"position", "", elems::kIndex, Port::Use::optional},
}};
Status sequence_erase_types(InferCx& cx);
Status sequence_erase_run(OpaqueCall& call);
FRAZIL_OP(SequenceErase,
          opaque({"SequenceErase", 11, "A sequence without its last item or the one at a position."},
                 {kSequenceEraseIn, kSequencePort}, sequence_erase_types, sequence_erase_run, kNotNumbers));

inline constexpr std::array<Port, 1> kLengthOut{{{"length", "", elems::kI64}}};
Status sequence_length_types(InferCx& cx);
Status sequence_length_run(OpaqueCall& call);
FRAZIL_OP(SequenceLength, opaque({"SequenceLength", 11, "The number of items."}, {kSequencePort, kLengthOut},
                                 sequence_length_types, sequence_length_run, kNotNumbers));

struct SplitToSequenceAttrs {
  std::int64_t axis = 0;
  std::int64_t keepdims = 1;
  static constexpr std::array fields{
      attr<&SplitToSequenceAttrs::axis>("axis", "the axis to split"),
      attr<&SplitToSequenceAttrs::keepdims>("keepdims", "0: without 'split' the axis is removed"),
  };
};
inline constexpr std::array<Port, 2> kSplitToSequenceIn{{
    {"input", "T", elems::kTensor},
    {"split", "", elems::kIndex, Port::Use::optional},
}};
Status split_to_sequence_types(InferCx& cx);
Status split_to_sequence_run(OpaqueCall& call);
FRAZIL_OP(SplitToSequence,
          opaque<SplitToSequenceAttrs>({"SplitToSequence", {24, 11}, "A tensor split along one axis into a sequence."},
                                       {kSplitToSequenceIn, kSequencePort}, split_to_sequence_types,
                                       split_to_sequence_run, kNotNumbers));

struct ConcatFromSequenceAttrs {
  std::int64_t axis = 0;
  std::int64_t new_axis = 0;
  static constexpr std::array fields{
      required<&ConcatFromSequenceAttrs::axis>("axis", "the axis along which items are joined"),
      attr<&ConcatFromSequenceAttrs::new_axis>("new_axis", "1: stacks the items along a new axis"),
  };
};
Status concat_from_sequence_types(InferCx& cx);
Status concat_from_sequence_run(OpaqueCall& call);
FRAZIL_OP(ConcatFromSequence,
          opaque<ConcatFromSequenceAttrs>({"ConcatFromSequence", 11, "The items concatenated to one tensor."},
                                          {kSequencePort, kTensorOut}, concat_from_sequence_types,
                                          concat_from_sequence_run, kNotNumbers));

/// The type of the missing value of an empty optional. The importer reads it from the ONNX attribute 'type'.
struct OptionalAttrs {
  Elem elem_type = Elem::f32;
  std::int64_t sequence = 0;
  static constexpr std::array fields{
      attr<&OptionalAttrs::elem_type>("elem_type", "without an input: ONNX data type of the missing value"),
      attr<&OptionalAttrs::sequence>("sequence", "without an input: 1 if the missing value is a sequence"),
  };
};
inline constexpr std::array<Port, 1> kOptionalIn{{{"input", "", 0, Port::Use::optional}}};
inline constexpr std::array<Port, 1> kOptionalOut{{{"output", "", 0}}};
Status optional_types(InferCx& cx);
Status optional_run(OpaqueCall& call);
FRAZIL_OP(Optional, opaque<OptionalAttrs>({"Optional", 15, "Its input as an optional, or an empty one."},
                                          {kOptionalIn, kOptionalOut}, optional_types, optional_run, kNotNumbers));

Status optional_has_element_types(InferCx& cx);
Status optional_has_element_run(OpaqueCall& call);
FRAZIL_OP(OptionalHasElement,
          opaque({"OptionalHasElement", {18, 15}, "Whether there is a value."}, {kOptionalIn, kPortBool},
                 optional_has_element_types, optional_has_element_run, kNotNumbers));

inline constexpr std::array<Port, 1> kOptionalGetIn{{{"input", "", 0}}};
Status optional_get_element_types(InferCx& cx);
Status optional_get_element_run(OpaqueCall& call);
FRAZIL_OP(OptionalGetElement,
          opaque({"OptionalGetElement", {18, 15}, "The value of an optional that has one."},
                 {kOptionalGetIn, kOptionalOut}, optional_get_element_types, optional_get_element_run, kNotNumbers));

}  // namespace frazil::ops
