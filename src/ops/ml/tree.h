#pragma once

#include <algorithm>

#include "ops/core/memo.h"
#include "ops/ml/scores.h"

// Ensembles of decision trees of ai.onnx.ml. All of them expand to TreeVotes, which validates and evaluates the trees.
namespace frazil::ops {

/// A validated ensemble of trees.
struct Forest {
  enum class Test : std::uint8_t { leq, lt, gte, gt, eq, neq, member };
  struct Node {
    double split;  ///< with Test::member, the index of its set
    std::int32_t feature;
    std::int32_t next[2];  ///< successor if the test fails, and if it passes: a node, or ~leaf
    Test test;
    bool missing_is_yes;
  };
  std::vector<Node> nodes;
  std::vector<std::int32_t> roots;
  std::vector<std::int64_t> votes_from;  ///< first vote of each leaf, then the end
  std::vector<std::int32_t> vote_target;
  std::vector<double> vote_weight;
  std::vector<std::size_t> set_from;  ///< first member of each set, then the end
  std::vector<double> members;        ///< ascending within a set
  std::int64_t features = 0;          ///< minimum number of features per row
  bool all_leq = true;
};

/// Trees as flat lists. A position is the number of a node, or -1 minus the number of a leaf.
struct TreeVotesAttrs {
  Ints features = {};
  Ints tests = {};
  std::optional<Tensor> splits = {};
  Ints yes = {};
  Ints no = {};
  Ints missing_is_yes = {};
  std::optional<Tensor> members = {};
  Ints roots = {};
  Ints votes_from = {};
  Ints vote_targets = {};
  std::optional<Tensor> vote_weights = {};
  std::int64_t targets = 1;
  std::string aggregate = "SUM";
  Memo<Forest> forest = {};
  static constexpr std::array fields{
      attr<&TreeVotesAttrs::features>("features", "of each node: the column that it tests"),
      attr<&TreeVotesAttrs::tests>("tests", "0 to 6: at most, less, at least, greater, equal, not equal, in a set"),
      attr<&TreeVotesAttrs::splits>("splits", "f64: the value it is compared with"),
      attr<&TreeVotesAttrs::yes>("yes", "the position of the next node if the test passes"),
      attr<&TreeVotesAttrs::no>("no", "the position of the next node otherwise"),
      attr<&TreeVotesAttrs::missing_is_yes>("missing_is_yes", "1: NaN passes the test; empty: for no node"),
      attr<&TreeVotesAttrs::members>("members", "f64: the sets, concatenated, each ended by NaN"),
      attr<&TreeVotesAttrs::roots>("roots", "the position of each tree's root"),
      attr<&TreeVotesAttrs::votes_from>("votes_from", "start of the votes of each leaf, and the end of the last"),
      attr<&TreeVotesAttrs::vote_targets>("vote_targets", "the column of each vote"),
      attr<&TreeVotesAttrs::vote_weights>("vote_weights", "f64: what it adds"),
      attr<&TreeVotesAttrs::targets>("targets", "columns of the result"),
      attr<&TreeVotesAttrs::aggregate>("aggregate", "SUM, AVERAGE, MIN or MAX of the votes; 0 where there are none"),
  };
};
inline constexpr std::array<Port, 1> kVotesIn{{{"X", "", elems::kF32 | one(Elem::f64)}}};
inline constexpr std::array<Port, 1> kVotesOut{{{"Y", "", one(Elem::f64)}}};
Status tree_votes_types(InferCx& cx);
Status tree_votes_run(OpaqueCall& call);
FRAZIL_OP(TreeVotes, opaque<TreeVotesAttrs>({"TreeVotes", 1, "The votes of the trees' leaves for each row.", "frazil"},
                                            {kVotesIn, kVotesOut}, tree_votes_types, tree_votes_run,
                                            "which nodes are read depends on data", Opaque::Work::unknown));

// ---- TreeEnsemble ----

struct TreeEnsembleAttrs {
  std::int64_t aggregate_function = 1;
  Ints leaf_targetids;
  Tensor leaf_weights;
  std::optional<Tensor> membership_values = {};
  std::optional<std::int64_t> n_targets = {};
  Ints nodes_falseleafs;
  Ints nodes_falsenodeids;
  Ints nodes_featureids;
  std::optional<Tensor> nodes_hitrates = {};
  Ints nodes_missing_value_tracks_true = {};
  Tensor nodes_modes;
  Tensor nodes_splits;
  Ints nodes_trueleafs;
  Ints nodes_truenodeids;
  std::int64_t post_transform = 0;
  Ints tree_roots;
  static constexpr std::array fields{
      attr<&TreeEnsembleAttrs::aggregate_function>("aggregate_function", "0 to 3: AVERAGE, SUM, MIN, MAX"),
      required<&TreeEnsembleAttrs::leaf_targetids>("leaf_targetids", "the column of each leaf"),
      required<&TreeEnsembleAttrs::leaf_weights>("leaf_weights", "value added by each leaf"),
      attr<&TreeEnsembleAttrs::membership_values>("membership_values", "the sets, each ended by NaN"),
      attr<&TreeEnsembleAttrs::n_targets>("n_targets", "columns of the result"),
      required<&TreeEnsembleAttrs::nodes_falseleafs>("nodes_falseleafs", "1: nodes_falsenodeids is a leaf"),
      required<&TreeEnsembleAttrs::nodes_falsenodeids>("nodes_falsenodeids", "the next node when the test fails"),
      required<&TreeEnsembleAttrs::nodes_featureids>("nodes_featureids", "the column that the node tests"),
      attr<&TreeEnsembleAttrs::nodes_hitrates>("nodes_hitrates", "does not affect results"),
      attr<&TreeEnsembleAttrs::nodes_missing_value_tracks_true>("nodes_missing_value_tracks_true",
                                                                "1: NaN passes the test"),
      required<&TreeEnsembleAttrs::nodes_modes>("nodes_modes", "0 to 6: <=, <, >=, >, ==, !=, in a set"),
      required<&TreeEnsembleAttrs::nodes_splits>("nodes_splits", "the value that the column is compared with"),
      required<&TreeEnsembleAttrs::nodes_trueleafs>("nodes_trueleafs", "1: nodes_truenodeids is a leaf"),
      required<&TreeEnsembleAttrs::nodes_truenodeids>("nodes_truenodeids", "the next node when the test passes"),
      attr<&TreeEnsembleAttrs::post_transform>("post_transform",
                                               "0 to 4: NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT"),
      required<&TreeEnsembleAttrs::tree_roots>("tree_roots", "the first node of each tree"),
  };
};
inline constexpr ElemSet kTreeElems = elems::kF32 | one(Elem::f64) | one(Elem::f16);
void tree_ensemble_body(CompositeCx& cx);
FRAZIL_OP(TreeEnsemble, composite<TreeEnsembleAttrs>({"TreeEnsemble", 5, "The votes of decision trees.", kMl},
                                                     unary<kTreeElems>, tree_ensemble_body));

// ---- TreeEnsembleClassifier, TreeEnsembleRegressor ----

/// The trees of both operators, without their votes.
struct TreeNodesAttrs {
  Ints nodes_treeids = {};
  Ints nodes_nodeids = {};
  Ints nodes_featureids = {};
  Floats nodes_values = {};
  std::optional<Tensor> nodes_values_as_tensor = {};
  Floats nodes_hitrates = {};
  std::optional<Tensor> nodes_hitrates_as_tensor = {};
  Strings nodes_modes = {};
  Ints nodes_truenodeids = {};
  Ints nodes_falsenodeids = {};
  Ints nodes_missing_value_tracks_true = {};
  Floats base_values = {};
  std::optional<Tensor> base_values_as_tensor = {};
  std::string post_transform = "NONE";
};
inline constexpr std::array kTreeNodeFields{
    attr<&TreeNodesAttrs::nodes_treeids>("nodes_treeids", "the tree of each node"),
    attr<&TreeNodesAttrs::nodes_nodeids>("nodes_nodeids", "its number in the tree"),
    attr<&TreeNodesAttrs::nodes_featureids>("nodes_featureids", "the column that it tests"),
    attr<&TreeNodesAttrs::nodes_values>("nodes_values", "the value that the column is compared with"),
    attr<&TreeNodesAttrs::nodes_values_as_tensor>("nodes_values_as_tensor", "the same as a tensor", 3),
    attr<&TreeNodesAttrs::nodes_hitrates>("nodes_hitrates", "does not affect results"),
    attr<&TreeNodesAttrs::nodes_hitrates_as_tensor>("nodes_hitrates_as_tensor", "does not affect results", 3),
    attr<&TreeNodesAttrs::nodes_modes>("nodes_modes", "BRANCH_LEQ, _LT, _GTE, _GT, _EQ, _NEQ, or LEAF"),
    attr<&TreeNodesAttrs::nodes_truenodeids>("nodes_truenodeids", "the node of the tree after a test that passes"),
    attr<&TreeNodesAttrs::nodes_falsenodeids>("nodes_falsenodeids", "the node of the tree after a test that fails"),
    attr<&TreeNodesAttrs::nodes_missing_value_tracks_true>("nodes_missing_value_tracks_true", "1: NaN passes the test"),
    attr<&TreeNodesAttrs::base_values>("base_values", "added to each score: one number, or one per score"),
    attr<&TreeNodesAttrs::base_values_as_tensor>("base_values_as_tensor", "the same as a tensor", 3),
    attr<&TreeNodesAttrs::post_transform>("post_transform", "NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT"),
};
template <std::size_t N, std::size_t M>
constexpr std::array<AttrField, N + M> joined(const std::array<AttrField, N>& a, const std::array<AttrField, M>& b) {
  std::array<AttrField, N + M> all{};
  std::copy(a.begin(), a.end(), all.begin());
  std::copy(b.begin(), b.end(), all.begin() + N);
  return all;
}

struct TreeClassifierAttrs : TreeNodesAttrs {
  Ints class_treeids = {};
  Ints class_nodeids = {};
  Ints class_ids = {};
  Floats class_weights = {};
  std::optional<Tensor> class_weights_as_tensor = {};
  Ints classlabels_int64s = {};
  Strings classlabels_strings = {};
  ClassLabels labels() const { return {classlabels_int64s, classlabels_strings}; }
  static constexpr std::array own{
      attr<&TreeClassifierAttrs::class_treeids>("class_treeids", "the tree of each vote"),
      attr<&TreeClassifierAttrs::class_nodeids>("class_nodeids", "its leaf"),
      attr<&TreeClassifierAttrs::class_ids>("class_ids", "the class it counts for"),
      attr<&TreeClassifierAttrs::class_weights>("class_weights", "its value"),
      attr<&TreeClassifierAttrs::class_weights_as_tensor>("class_weights_as_tensor", "the same as a tensor", 3),
      attr<&TreeClassifierAttrs::classlabels_int64s>("classlabels_int64s", "the labels when they are integers"),
      attr<&TreeClassifierAttrs::classlabels_strings>("classlabels_strings", "the labels when they are strings"),
  };
  static constexpr std::array fields = joined(own, kTreeNodeFields);
};
void tree_classifier_body(CompositeCx& cx);
FRAZIL_OP(TreeEnsembleClassifier,
          composite<TreeClassifierAttrs>({"TreeEnsembleClassifier", {5, 1}, "The class with the most votes.", kMl},
                                         {kMlIn, kMlLabelled}, tree_classifier_body, label_elem<TreeClassifierAttrs>));

struct TreeRegressorAttrs : TreeNodesAttrs {
  std::string aggregate_function = "SUM";
  std::optional<std::int64_t> n_targets = {};
  Ints target_treeids = {};
  Ints target_nodeids = {};
  Ints target_ids = {};
  Floats target_weights = {};
  std::optional<Tensor> target_weights_as_tensor = {};
  static constexpr std::array own{
      attr<&TreeRegressorAttrs::aggregate_function>("aggregate_function", "SUM, AVERAGE, MIN or MAX"),
      attr<&TreeRegressorAttrs::n_targets>("n_targets", "columns of the result"),
      attr<&TreeRegressorAttrs::target_treeids>("target_treeids", "the tree of each vote"),
      attr<&TreeRegressorAttrs::target_nodeids>("target_nodeids", "its leaf"),
      attr<&TreeRegressorAttrs::target_ids>("target_ids", "the column it counts for"),
      attr<&TreeRegressorAttrs::target_weights>("target_weights", "its value"),
      attr<&TreeRegressorAttrs::target_weights_as_tensor>("target_weights_as_tensor", "the same as a tensor", 3),
  };
  static constexpr std::array fields = joined(own, kTreeNodeFields);
};
void tree_regressor_body(CompositeCx& cx);
FRAZIL_OP(TreeEnsembleRegressor, composite<TreeRegressorAttrs>(
                                     {"TreeEnsembleRegressor", {5, 1}, "The votes of the trees for each target.", kMl},
                                     {kMlIn, kMlScores}, tree_regressor_body));

}  // namespace frazil::ops
