#pragma once

#include "ops/ml/scores.h"

// Linear models of ai.onnx.ml.
namespace frazil::ops {

struct LinearClassifierAttrs {
  Ints classlabels_ints = {};
  Strings classlabels_strings = {};
  Floats coefficients;
  Floats intercepts = {};
  std::int64_t multi_class = 0;
  std::string post_transform = "NONE";
  ClassLabels labels() const { return {classlabels_ints, classlabels_strings}; }
  static constexpr std::array fields{
      attr<&LinearClassifierAttrs::classlabels_ints>("classlabels_ints", "the labels when they are integers"),
      attr<&LinearClassifierAttrs::classlabels_strings>("classlabels_strings", "the labels when they are strings"),
      required<&LinearClassifierAttrs::coefficients>("coefficients", "one row of weights for each score"),
      attr<&LinearClassifierAttrs::intercepts>("intercepts", "added to each score"),
      attr<&LinearClassifierAttrs::multi_class>("multi_class", "how the model was trained; has no effect"),
      attr<&LinearClassifierAttrs::post_transform>("post_transform", "NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT"),
  };
};
void linear_classifier_body(CompositeCx& cx);
FRAZIL_OP(LinearClassifier,
          composite<LinearClassifierAttrs>({"LinearClassifier", 1, "The class of the greatest linear score.", kMl},
                                           {kMlIn, kMlLabelled}, linear_classifier_body,
                                           label_elem<LinearClassifierAttrs>));

struct LinearRegressorAttrs {
  Floats coefficients = {};
  Floats intercepts = {};
  std::string post_transform = "NONE";
  std::int64_t targets = 1;
  static constexpr std::array fields{
      attr<&LinearRegressorAttrs::coefficients>("coefficients", "one row of weights for each target"),
      attr<&LinearRegressorAttrs::intercepts>("intercepts", "added to each target"),
      attr<&LinearRegressorAttrs::post_transform>("post_transform", "as in LinearClassifier"),
      attr<&LinearRegressorAttrs::targets>("targets", "number of results per row"),
  };
};
void linear_regressor_body(CompositeCx& cx);
FRAZIL_OP(LinearRegressor,
          composite<LinearRegressorAttrs>({"LinearRegressor", 1, "Linear functions of the features.", kMl},
                                          {kMlIn, kMlScores}, linear_regressor_body));

}  // namespace frazil::ops
