#pragma once

#include "ops/ml/scores.h"

// Operators of ai.onnx.ml that prepare features.
namespace frazil::ops {

inline constexpr ElemSet kExtracted = kMlNumbers | elems::kString;
inline constexpr std::array<Port, 2> kExtractorIn{{{"X", "T", kExtracted}, {"Y", "", elems::kI64}}};
inline constexpr std::array<Port, 1> kExtractorOut{{{"Z", "T", kExtracted}}};
void array_feature_extractor_body(CompositeCx& cx);
FRAZIL_OP(ArrayFeatureExtractor,
          composite({"ArrayFeatureExtractor", 1, "Columns of the last axis, selected by index.", kMl},
                    {kExtractorIn, kExtractorOut}, array_feature_extractor_body));

struct BinarizerAttrs {
  float threshold = 0;
  static constexpr std::array fields{attr<&BinarizerAttrs::threshold>("threshold", "values above it become 1")};
};
Sx binarizer_body(Sx x, const BinarizerAttrs& a);
FRAZIL_OP(Binarizer, elementwise<1, BinarizerAttrs>({"Binarizer", 1, "1 where X is above a threshold, else 0.", kMl},
                                                    unary<kMlNumbers>, [](Sx x, const BinarizerAttrs& a) {
                                                      return binarizer_body(x, a);
                                                    }));

struct ImputerAttrs {
  Floats imputed_value_floats = {};
  Ints imputed_value_int64s = {};
  float replaced_value_float = 0;
  std::int64_t replaced_value_int64 = 0;
  static constexpr std::array fields{
      attr<&ImputerAttrs::imputed_value_floats>("imputed_value_floats", "for floats: one value, or one per feature"),
      attr<&ImputerAttrs::imputed_value_int64s>("imputed_value_int64s", "as above, for integers"),
      attr<&ImputerAttrs::replaced_value_float>("replaced_value_float", "the float that marks a missing value"),
      attr<&ImputerAttrs::replaced_value_int64>("replaced_value_int64", "the integer that marks a missing value"),
  };
};
void imputer_body(CompositeCx& cx);
FRAZIL_OP(Imputer, composite<ImputerAttrs>({"Imputer", 1, "X with missing values replaced.", kMl}, unary<kMlNumbers>,
                                           imputer_body));

struct ScalerAttrs {
  Floats offset = {};
  Floats scale = {};
  static constexpr std::array fields{
      attr<&ScalerAttrs::offset>("offset", "subtracted first: one number, or one per feature"),
      attr<&ScalerAttrs::scale>("scale", "multiplied by next: one number, or one per feature"),
  };
};
void scaler_body(CompositeCx& cx);
FRAZIL_OP(Scaler, composite<ScalerAttrs>({"Scaler", 1, "(X - offset) * scale.", kMl}, {kMlIn, kMlScores}, scaler_body));

struct NormalizerAttrs {
  std::string norm = "MAX";
  static constexpr std::array fields{attr<&NormalizerAttrs::norm>("norm", "MAX, L1 or L2")};
};
void normalizer_body(CompositeCx& cx);
FRAZIL_OP(Normalizer,
          composite<NormalizerAttrs>({"Normalizer", 1, "Each row divided by its maximum, L1 or L2 norm.", kMl},
                                     {kMlIn, kMlScores}, normalizer_body));

struct FeatureVectorizerAttrs {
  Ints inputdimensions = {};
  static constexpr std::array fields{attr<&FeatureVectorizerAttrs::inputdimensions>(
      "inputdimensions", "columns of each input: truncated or zero-padded")};
};
inline constexpr std::array<Port, 1> kVectorizerIn{{{"X", "", kMlNumbers, Port::Use::variadic}}};
void feature_vectorizer_body(CompositeCx& cx);
FRAZIL_OP(FeatureVectorizer,
          composite<FeatureVectorizerAttrs>({"FeatureVectorizer", 1, "The columns of all inputs side by side.", kMl},
                                            {kVectorizerIn, kMlScores}, feature_vectorizer_body));

}  // namespace frazil::ops
