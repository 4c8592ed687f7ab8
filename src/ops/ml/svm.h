#pragma once

#include "ops/ml/scores.h"

// Support vector machines of ai.onnx.ml.
namespace frazil::ops {

Status square_distance_space(InferCx& cx, Space& space);
inline constexpr ElemSet kReal = elems::kF32 | one(Elem::f64);
FRAZIL_OP(SquareDistance,
          contraction<2>({"SquareDistance", 1, "Of each row of A from each row of B.", "frazil"}, binary<kReal>,
                         square_distance_space, [](Sx a, Sx b) { return (a - b) * (a - b); }));

Status coupled_types(InferCx& cx);
Status coupled_run(OpaqueCall& call);
FRAZIL_OP(CoupledProbabilities,
          opaque({"CoupledProbabilities", 1, "Probabilities of classes from those of each two, (0, 1), (0, 2), ...",
                  "frazil"},
                 unary<elems::kF32>, coupled_types, coupled_run, "an iteration until convergence",
                 Opaque::Work::unknown));

struct SvmClassifierAttrs {
  Ints classlabels_ints = {};
  Strings classlabels_strings = {};
  Floats coefficients = {};
  Floats kernel_params = {};
  std::string kernel_type = "LINEAR";
  std::string post_transform = "NONE";
  Floats prob_a = {};
  Floats prob_b = {};
  Floats rho = {};
  Floats support_vectors = {};
  Ints vectors_per_class = {};
  ClassLabels labels() const { return {classlabels_ints, classlabels_strings}; }
  static constexpr std::array fields{
      attr<&SvmClassifierAttrs::classlabels_ints>("classlabels_ints", "the labels when they are integers"),
      attr<&SvmClassifierAttrs::classlabels_strings>("classlabels_strings", "the labels when they are strings"),
      attr<&SvmClassifierAttrs::coefficients>("coefficients", "of each support vector against each other class"),
      attr<&SvmClassifierAttrs::kernel_params>("kernel_params", "gamma, coef0 and degree"),
      attr<&SvmClassifierAttrs::kernel_type>("kernel_type", "LINEAR, POLY, RBF or SIGMOID"),
      attr<&SvmClassifierAttrs::post_transform>("post_transform", "NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT"),
      attr<&SvmClassifierAttrs::prob_a>("prob_a", "slope of the probability of each two classes"),
      attr<&SvmClassifierAttrs::prob_b>("prob_b", "offset of the probability of each two classes"),
      attr<&SvmClassifierAttrs::rho>("rho", "added to the score of each two classes"),
      attr<&SvmClassifierAttrs::support_vectors>("support_vectors", "those of the first class, the second, ..."),
      attr<&SvmClassifierAttrs::vectors_per_class>("vectors_per_class",
                                                   "vectors per class; empty: the model is linear"),
  };
};
void svm_classifier_body(CompositeCx& cx);
FRAZIL_OP(SVMClassifier,
          composite<SvmClassifierAttrs>({"SVMClassifier", 1, "The class that wins most pairwise comparisons.", kMl},
                                        {kMlIn, kMlLabelled}, svm_classifier_body, label_elem<SvmClassifierAttrs>));

struct SvmRegressorAttrs {
  Floats coefficients = {};
  Floats kernel_params = {};
  std::string kernel_type = "LINEAR";
  std::int64_t n_supports = 0;
  std::int64_t one_class = 0;
  std::string post_transform = "NONE";
  Floats rho = {};
  Floats support_vectors = {};
  static constexpr std::array fields{
      attr<&SvmRegressorAttrs::coefficients>("coefficients", "of each support vector, or of each feature"),
      attr<&SvmRegressorAttrs::kernel_params>("kernel_params", "gamma, coef0 and degree"),
      attr<&SvmRegressorAttrs::kernel_type>("kernel_type", "LINEAR, POLY, RBF or SIGMOID"),
      attr<&SvmRegressorAttrs::n_supports>("n_supports", "number of support vectors; 0: the model is linear"),
      attr<&SvmRegressorAttrs::one_class>("one_class", "1: the result is 1 where the score is above 0, else -1"),
      attr<&SvmRegressorAttrs::post_transform>("post_transform", "as in SVMClassifier"),
      attr<&SvmRegressorAttrs::rho>("rho", "added to the score"),
      attr<&SvmRegressorAttrs::support_vectors>("support_vectors", "one after the other"),
  };
};
void svm_regressor_body(CompositeCx& cx);
FRAZIL_OP(SVMRegressor, composite<SvmRegressorAttrs>({"SVMRegressor", 1, "A weighted sum of kernels.", kMl},
                                                     {kMlIn, kMlScores}, svm_regressor_body));

}  // namespace frazil::ops
