#pragma once

#include "ops/ml/scores.h"

// Operators of ai.onnx.ml that convert between maps and tensors.
namespace frazil::ops {

inline constexpr std::string_view kMapsHold = "maps are not numbers";
inline constexpr std::array<Port, 1> kMapIn{{{"X", "", 0}}};
inline constexpr std::array<Port, 1> kMapValuesOut{{{"Y", "", 0}}}, kMapsOut{{{"Z", "", 0}}};

struct CastMapAttrs {
  std::string cast_to = "TO_FLOAT";
  std::string map_form = "DENSE";
  std::int64_t max_map = 1;
  static constexpr std::array fields{
      attr<&CastMapAttrs::cast_to>("cast_to", "TO_FLOAT, TO_INT64 or TO_STRING"),
      attr<&CastMapAttrs::map_form>("map_form", "DENSE: values in the order of keys; SPARSE: a key is a column"),
      attr<&CastMapAttrs::max_map>("max_map", "SPARSE: number of columns"),
  };
};
Status cast_map_types(InferCx& cx);
Status cast_map_run(OpaqueCall& call);
FRAZIL_OP(CastMap, opaque<CastMapAttrs>({"CastMap", 1, "The values of a map as one row.", kMl}, {kMapIn, kMapValuesOut},
                                        cast_map_types, cast_map_run, kMapsHold));

struct DictVectorizerAttrs {
  Ints int64_vocabulary = {};
  Strings string_vocabulary = {};
  static constexpr std::array fields{
      attr<&DictVectorizerAttrs::int64_vocabulary>("int64_vocabulary", "the key of each column"),
      attr<&DictVectorizerAttrs::string_vocabulary>("string_vocabulary", "the same for strings"),
  };
};
Status dict_vectorizer_types(InferCx& cx);
Status dict_vectorizer_run(OpaqueCall& call);
FRAZIL_OP(DictVectorizer,
          opaque<DictVectorizerAttrs>({"DictVectorizer", 1, "The values of the given keys as one row.", kMl},
                                      {kMapIn, kMapValuesOut}, dict_vectorizer_types, dict_vectorizer_run, kMapsHold));

struct ZipMapAttrs {
  Ints classlabels_int64s = {};
  Strings classlabels_strings = {};
  ClassLabels labels() const { return {classlabels_int64s, classlabels_strings}; }
  static constexpr std::array fields{
      attr<&ZipMapAttrs::classlabels_int64s>("classlabels_int64s", "the key of each column"),
      attr<&ZipMapAttrs::classlabels_strings>("classlabels_strings", "the same for strings"),
  };
};
inline constexpr std::array<Port, 1> kZipIn{{{"X", "", elems::kF32}}};
Status zip_map_types(InferCx& cx);
Status zip_map_run(OpaqueCall& call);
FRAZIL_OP(ZipMap, opaque<ZipMapAttrs>({"ZipMap", 1, "A map from labels to numbers for each row.", kMl},
                                      {kZipIn, kMapsOut}, zip_map_types, zip_map_run, kMapsHold));

}  // namespace frazil::ops
