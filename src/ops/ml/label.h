#pragma once

#include <unordered_map>

#include "ops/core/memo.h"
#include "ops/ml/scores.h"

// Operators of ai.onnx.ml that convert between labels and numbers.
namespace frazil::ops {

/// The position of each key in a list; for equal keys, the position of the last one.
struct KeyPlaces {
  std::unordered_map<std::uint64_t, std::size_t> numbers;  ///< by the bits of an integer, or of a float as f64
  std::unordered_map<std::string, std::size_t> strings;
};

struct LabelEncoderAttrs {
  std::optional<Tensor> keys_tensor = {};
  std::optional<Strings> keys_strings = {};
  std::optional<Ints> keys_int64s = {};
  std::optional<Floats> keys_floats = {};
  std::optional<Tensor> values_tensor = {};
  std::optional<Strings> values_strings = {};
  std::optional<Ints> values_int64s = {};
  std::optional<Floats> values_floats = {};
  std::string default_string = "_Unused";
  std::int64_t default_int64 = -1;
  float default_float = -0.0f;
  std::optional<Tensor> default_tensor = {};
  Memo<KeyPlaces> places = {};
  static constexpr std::array fields{
      attr<&LabelEncoderAttrs::keys_tensor>("keys_tensor", "values of X; one of four lists", 4),
      attr<&LabelEncoderAttrs::keys_strings>("keys_strings", "the same for strings"),
      attr<&LabelEncoderAttrs::keys_int64s>("keys_int64s", "the same for i64"),
      attr<&LabelEncoderAttrs::keys_floats>("keys_floats", "the same for f32"),
      attr<&LabelEncoderAttrs::values_tensor>("values_tensor", "value of Y for each key; one of four lists", 4),
      attr<&LabelEncoderAttrs::values_strings>("values_strings", "the same for strings"),
      attr<&LabelEncoderAttrs::values_int64s>("values_int64s", "the same for i64"),
      attr<&LabelEncoderAttrs::values_floats>("values_floats", "the same for f32"),
      attr<&LabelEncoderAttrs::default_string>("default_string", "value of Y for unknown keys, for strings"),
      attr<&LabelEncoderAttrs::default_int64>("default_int64", "the same for i64"),
      attr<&LabelEncoderAttrs::default_float>("default_float", "the same for f32"),
      attr<&LabelEncoderAttrs::default_tensor>("default_tensor", "the same for values_tensor", 4),
  };
};
inline constexpr ElemSet kEncoded = elems::kNumeric | elems::kString;
inline constexpr std::array<Port, 1> kEncoderIn{{{"X", "", kEncoded}}}, kEncoderOut{{{"Y", "", 0}}};
Status label_encoder_types(InferCx& cx);
Status label_encoder_run(OpaqueCall& call);
FRAZIL_OP(LabelEncoder, opaque<LabelEncoderAttrs>({"LabelEncoder", {4, 2}, "Maps each value to another one.", kMl},
                                                  {kEncoderIn, kEncoderOut}, label_encoder_types, label_encoder_run,
                                                  "a look-up by value"));

struct CategoryMapperAttrs {
  Ints cats_int64s = {};
  Strings cats_strings = {};
  std::int64_t default_int64 = -1;
  std::string default_string = "_Unused";
  static constexpr std::array fields{
      attr<&CategoryMapperAttrs::cats_int64s>("cats_int64s", "integers"),
      attr<&CategoryMapperAttrs::cats_strings>("cats_strings", "the string for each integer"),
      attr<&CategoryMapperAttrs::default_int64>("default_int64", "for any other string"),
      attr<&CategoryMapperAttrs::default_string>("default_string", "for any other integer"),
  };
};
inline constexpr std::array<Port, 1> kCategoryIn{{{"X", "", kMlLabels}}}, kCategoryOut{{{"Y", "", kMlLabels}}};
void category_mapper_body(CompositeCx& cx);
Elem category_elem(const void* attrs, std::span<const Elem> inputs);
FRAZIL_OP(CategoryMapper,
          composite<CategoryMapperAttrs>({"CategoryMapper", 1, "Strings for integers, or the other way.", kMl},
                                         {kCategoryIn, kCategoryOut}, category_mapper_body, category_elem));

struct OneHotEncoderAttrs {
  Ints cats_int64s = {};
  Strings cats_strings = {};
  std::int64_t zeros = 1;
  Memo<KeyPlaces> places = {};
  static constexpr std::array fields{
      attr<&OneHotEncoderAttrs::cats_int64s>("cats_int64s", "the categories when X holds numbers"),
      attr<&OneHotEncoderAttrs::cats_strings>("cats_strings", "the categories when X holds strings"),
      attr<&OneHotEncoderAttrs::zeros>("zeros", "0: it is an error when an element is not a category"),
  };
};
inline constexpr std::array<Port, 1> kCategoriesIn{{{"X", "", kMlNumbers | elems::kString}}};
Status one_hot_encoder_types(InferCx& cx);
Status one_hot_encoder_run(OpaqueCall& call);
FRAZIL_OP(OneHotEncoder,
          opaque<OneHotEncoderAttrs>({"OneHotEncoder", 1, "A new last axis that is 1 at the element's category.", kMl},
                                     {kCategoriesIn, kMlScores}, one_hot_encoder_types, one_hot_encoder_run,
                                     "a look-up by value"));

}  // namespace frazil::ops
