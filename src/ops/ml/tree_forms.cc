#include <array>
#include <limits>
#include <set>

#include "base/value/text.h"
#include "ops/core/compose.h"
#include "ops/elementwise/math.h"
#include "ops/ml/tree.h"
#include "ops/view/view.h"

// Converts each of the three ONNX encodings of trees to the lists of TreeVotes.
namespace frazil::ops {
namespace {

constexpr std::array<std::string_view, 7> kTests{"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",   "BRANCH_GT",
                                                 "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER"};

Tensor f64_tensor(std::span<const double> values) {
  return Tensor::of<double>({static_cast<std::int64_t>(values.size())}, values);
}

/// Returns numbers that are given as floats or as a tensor. Both together are an error.
Result<std::vector<double>> numbers_of(std::string_view name, const Floats& floats,
                                       const std::optional<Tensor>& tensor) {
  if (!tensor) return std::vector<double>(floats.begin(), floats.end());
  if (!floats.empty()) return fail(Code::bad_model, "{0} and {0}_as_tensor are both given", name);
  if (!contains(elems::kFloat, tensor->elem()) || tensor->rank() > 1) {
    return fail(Code::bad_model, "{}_as_tensor must be a vector of floats, got {}", name, tensor->type_str());
  }
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor->count(); ++i) values.push_back(tensor->number_at(i));
  return values;
}

// ---- TreeEnsembleClassifier, TreeEnsembleRegressor ----

/// The votes of the leaves as the model lists them.
struct Votes {
  const Ints &trees, &nodes, &targets;
  std::vector<double> weights;
};

/// A table that finds nodes by tree and number. It writes the lists of TreeVotes.
class NodeTable {
 public:
  explicit NodeTable(const TreeNodesAttrs& a) : a_(a), count_(a.nodes_nodeids.size()) {}

  Status write(const Votes& votes, TreeVotesAttrs& out) {
    FRAZIL_CHECK(check_lengths());
    FRAZIL_CHECK(sort_ids());
    FRAZIL_CHECK(number_places());
    FRAZIL_CHECK(write_nodes(out));
    FRAZIL_CHECK(write_roots(out));
    return write_votes(votes, out);
  }

 private:
  struct Id {
    std::int64_t tree, node;
    std::size_t at;
    auto operator<=>(const Id&) const = default;
  };

  Status check_lengths() {
    FRAZIL_TRY(values_, numbers_of("nodes_values", a_.nodes_values, a_.nodes_values_as_tensor));
    const std::pair<std::string_view, std::size_t> lists[] = {
        {"nodes_treeids", a_.nodes_treeids.size()},
        {"nodes_featureids", a_.nodes_featureids.size()},
        {"nodes_modes", a_.nodes_modes.size()},
        {"nodes_values", values_.size()},
        {"nodes_truenodeids", a_.nodes_truenodeids.size()},
        {"nodes_falsenodeids", a_.nodes_falsenodeids.size()},
        {"nodes_missing_value_tracks_true", a_.nodes_missing_value_tracks_true.size()},
    };
    for (const auto& [name, size] : lists) {
      const bool left_out = size == 0 && name == "nodes_missing_value_tracks_true";
      if (size != count_ && !left_out)
        return fail(Code::bad_model, "{} has {} entries for {} nodes", name, size, count_);
    }
    return {};
  }

  Status sort_ids() {
    for (std::size_t i = 0; i < count_; ++i) ids_.push_back({a_.nodes_treeids[i], a_.nodes_nodeids[i], i});
    std::ranges::sort(ids_);
    for (std::size_t i = 1; i < count_; ++i) {
      if (ids_[i].tree == ids_[i - 1].tree && ids_[i].node == ids_[i - 1].node) {
        return fail(Code::bad_model, "tree {} has node {} twice", ids_[i].tree, ids_[i].node);
      }
    }
    return {};
  }

  Result<std::size_t> find(std::string_view who, std::int64_t tree, std::int64_t node) const {
    const auto at = std::ranges::lower_bound(ids_, Id{tree, node, 0});
    if (at != ids_.end() && at->tree == tree && at->node == node) return at->at;
    return fail(Code::bad_model, "{}: tree {} has no node {}", who, tree, node);
  }

  Status number_places() {
    for (std::size_t i = 0; i < count_; ++i) {
      const auto test = std::ranges::find(kTests, a_.nodes_modes[i]);
      const bool branch = test != kTests.end() && *test != "BRANCH_MEMBER";
      if (!branch && a_.nodes_modes[i] != "LEAF") {
        return fail(Code::bad_model, "nodes_modes[{}] '{}' is not a kind of node", i, printable(a_.nodes_modes[i]));
      }
      tests_.push_back(branch ? test - kTests.begin() : -1);
      places_.push_back(branch ? branches_++ : -1 - leaves_++);
    }
    return {};
  }

  Status write_nodes(TreeVotesAttrs& out) {
    std::vector<double> splits;
    has_parent_.assign(count_, false);
    for (std::size_t i = 0; i < count_; ++i) {
      if (tests_[i] < 0) continue;
      const std::int64_t tree = a_.nodes_treeids[i];
      FRAZIL_TRY(const std::size_t yes, find("nodes_truenodeids", tree, a_.nodes_truenodeids[i]));
      FRAZIL_TRY(const std::size_t no, find("nodes_falsenodeids", tree, a_.nodes_falsenodeids[i]));
      has_parent_[yes] = has_parent_[no] = true;
      out.features.push_back(a_.nodes_featureids[i]);
      out.tests.push_back(tests_[i]);
      out.yes.push_back(places_[yes]);
      out.no.push_back(places_[no]);
      splits.push_back(values_[i]);
      if (!a_.nodes_missing_value_tracks_true.empty()) {
        out.missing_is_yes.push_back(a_.nodes_missing_value_tracks_true[i]);
      }
    }
    out.splits = f64_tensor(splits);
    return {};
  }

  /// Writes the first node of each tree: the node without a predecessor, or the first listed if there are several.
  Status write_roots(TreeVotesAttrs& out) const {
    for (std::size_t from = 0, to = 0; from < count_; from = to) {
      std::size_t root = count_;
      for (; to < count_ && ids_[to].tree == ids_[from].tree; ++to) {
        if (!has_parent_[ids_[to].at]) root = std::min(root, ids_[to].at);
      }
      if (root == count_) return fail(Code::bad_model, "tree {} has no first node: they form a cycle", ids_[from].tree);
      out.roots.push_back(places_[root]);
    }
    return {};
  }

  /// Writes the votes of the leaves. Votes of inner nodes are ignored.
  Status write_votes(const Votes& votes, TreeVotesAttrs& out) const {
    const std::size_t count = votes.targets.size();
    if (votes.trees.size() != count || votes.nodes.size() != count || votes.weights.size() != count) {
      return fail(Code::bad_model, "{} tree ids, {} node ids, {} ids and {} weights of votes", votes.trees.size(),
                  votes.nodes.size(), count, votes.weights.size());
    }
    std::vector<std::pair<std::int64_t, std::size_t>> by_leaf;
    for (std::size_t i = 0; i < count; ++i) {
      FRAZIL_TRY(const std::size_t node, find(fmt::format("vote {}", i), votes.trees[i], votes.nodes[i]));
      if (places_[node] < 0) by_leaf.emplace_back(-1 - places_[node], i);
    }
    std::ranges::sort(by_leaf);
    std::vector<double> weights;
    for (const auto& [leaf, i] : by_leaf) {
      out.votes_from.resize(static_cast<std::size_t>(leaf) + 1, static_cast<std::int64_t>(weights.size()));
      out.vote_targets.push_back(votes.targets[i]);
      weights.push_back(votes.weights[i]);
    }
    out.votes_from.resize(static_cast<std::size_t>(leaves_) + 1, static_cast<std::int64_t>(weights.size()));
    out.vote_weights = f64_tensor(weights);
    return {};
  }

  const TreeNodesAttrs& a_;
  std::size_t count_;
  std::vector<double> values_;
  std::vector<Id> ids_;
  std::vector<std::ptrdiff_t> tests_;  // -1: a leaf
  Ints places_;
  std::int64_t branches_ = 0, leaves_ = 0;
  std::vector<bool> has_parent_;
};

/// Returns the votes for each row plus the base values, in f64: [N, lists.targets].
Result<Expr> sums(CompositeCx& cx, const TreeNodesAttrs& a, const Votes& votes, TreeVotesAttrs lists,
                  std::size_t base_from = 0) {
  FRAZIL_CHECK(NodeTable(a).write(votes, lists));
  FRAZIL_TRY(std::vector<double> base, numbers_of("base_values", a.base_values, a.base_values_as_tensor));
  const auto targets = static_cast<std::size_t>(lists.targets);
  const Expr x = rows(cx);
  FRAZIL_CHECK(cx.status());
  const Expr all = TreeVotes({x}, std::move(lists));
  if (base.empty()) return all;
  if (base.size() != 1) {
    if (base.size() < base_from + targets || (base_from == 0 && base.size() != targets)) {
      return fail(Code::bad_model, "{} base_values for {} scores", base.size(), targets);
    }
    base.erase(base.begin(), base.begin() + static_cast<std::ptrdiff_t>(base_from));
    base.resize(targets);
  }
  return Add(all, cx.builder().constant(f64_tensor(base)));
}

}  // namespace

void tree_regressor_body(CompositeCx& cx) {
  const auto& a = cx.attrs<TreeRegressorAttrs>();
  const PostTransform transform = post_transform_of(cx, a.post_transform);
  auto weights = numbers_of("target_weights", a.target_weights, a.target_weights_as_tensor);
  if (!weights) return cx.stop(std::move(weights).error());
  std::int64_t targets = a.n_targets.value_or(1);
  if (!a.n_targets) {
    for (const std::int64_t id : a.target_ids) targets = std::max(targets, std::min(id, INT64_MAX - 1) + 1);
  }
  const Votes votes{a.target_treeids, a.target_nodeids, a.target_ids, std::move(*weights)};
  auto scores = sums(cx, a, votes, {.targets = targets, .aggregate = a.aggregate_function});
  if (!scores) return cx.stop(std::move(scores).error());
  cx.out(0, transformed(cx, as_elem(*scores, Elem::f32), transform));
}

namespace {

/// Sets the outputs for two classes of which only one has votes. The score of the other class is derived.
void output_binary_labels(CompositeCx& cx, Expr score, bool is_share, const ClassLabels& labels,
                          PostTransform transform) {
  const bool of_shares = transform == PostTransform::probit || (transform == PostTransform::none && is_share);
  if (!of_shares) return output_labels(cx, score, labels, transform);
  const Expr both = Concat({Sub(cx.number(Elem::f32, 1), score), score}, {.axis = 1});
  output_labels(cx, both, labels, transform);
}

}  // namespace

void tree_classifier_body(CompositeCx& cx) {
  const auto& a = cx.attrs<TreeClassifierAttrs>();
  const PostTransform transform = post_transform_of(cx, a.post_transform);
  const ClassLabels labels = a.labels();
  if (!labels.check(cx)) return;
  auto weights = numbers_of("class_weights", a.class_weights, a.class_weights_as_tensor);
  if (!weights) return cx.stop(std::move(weights).error());
  const bool all_positive = std::ranges::none_of(*weights, [](double w) { return w < 0; });
  const auto count = static_cast<std::int64_t>(labels.count());
  for (std::size_t i = 0; i < a.class_ids.size(); ++i) {
    const std::int64_t id = a.class_ids[i];
    if (id < 0 || id >= count) return cx.error("class_ids[{}] is {}, outside [0, {})", i, id, count);
  }
  const std::set<std::int64_t> voted(a.class_ids.begin(), a.class_ids.end());
  const bool binary = count == 2 && voted.size() == 1;
  const Ints one(a.class_ids.size(), 0);
  const Votes votes{a.class_treeids, a.class_nodeids, binary ? one : a.class_ids, std::move(*weights)};
  const std::size_t base_from = binary ? static_cast<std::size_t>(*voted.begin()) : 0;
  auto scores = sums(cx, a, votes, {.targets = binary ? 1 : count}, base_from);
  if (!scores) return cx.stop(std::move(scores).error());
  const Expr narrow = as_elem(*scores, Elem::f32);
  binary ? output_binary_labels(cx, narrow, all_positive, labels, transform)
         : output_labels(cx, narrow, labels, transform);
}

// ---- TreeEnsemble ----

namespace {

Result<std::vector<double>> numbers_in(std::string_view name, const Tensor& tensor, ElemSet elems) {
  const bool fits = tensor.defined() && tensor.rank() <= 1 && contains(elems, tensor.elem());
  if (!fits) {
    return fail(Code::bad_model, "{} cannot be {}", name, tensor.defined() ? tensor.type_str() : "nothing");
  }
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.count(); ++i) values.push_back(tensor.number_at(i));
  return values;
}

/// Writes one vote for each leaf.
Status write_leaves(const TreeEnsembleAttrs& a, TreeVotesAttrs& out) {
  FRAZIL_TRY(const std::vector<double> weights, numbers_in("leaf_weights", a.leaf_weights, elems::kFloat));
  if (weights.size() != a.leaf_targetids.size()) {
    return fail(Code::bad_model, "leaf_weights has {} entries, leaf_targetids {}", weights.size(),
                a.leaf_targetids.size());
  }
  out.vote_weights = f64_tensor(weights);
  out.vote_targets = a.leaf_targetids;
  for (std::size_t i = 0; i <= weights.size(); ++i) out.votes_from.push_back(static_cast<std::int64_t>(i));
  out.targets = a.n_targets.value_or(1);
  if (a.n_targets) return {};
  for (const std::int64_t id : a.leaf_targetids) out.targets = std::max(out.targets, std::min(id, INT64_MAX - 1) + 1);
  return {};
}

/// Writes the positions that indices and their leaf flags describe.
Status write_children(const TreeEnsembleAttrs& a, std::string_view name, const Ints& ids, const Ints& marks,
                      Ints& places) {
  const std::size_t nodes = a.nodes_featureids.size();
  if (ids.size() != nodes || marks.size() != nodes) {
    return fail(Code::bad_model, "nodes_{0}nodeids has {1} entries, nodes_{0}leafs {2}, for {3} nodes", name,
                ids.size(), marks.size(), nodes);
  }
  for (std::size_t i = 0; i < nodes; ++i) {
    const bool leaf = marks[i] != 0;
    const auto count = static_cast<std::int64_t>(leaf ? a.leaf_targetids.size() : nodes);
    if (ids[i] < 0 || ids[i] >= count) {
      return fail(Code::bad_model, "nodes_{}nodeids[{}] is {} {}, outside [0, {})", name, i, leaf ? "leaf" : "node",
                  ids[i], count);
    }
    places.push_back(leaf ? -1 - ids[i] : ids[i]);
  }
  return {};
}

Status write_roots(const TreeEnsembleAttrs& a, TreeVotesAttrs& out) {
  const auto nodes = static_cast<std::int64_t>(a.nodes_featureids.size());
  for (std::size_t i = 0; i < a.tree_roots.size(); ++i) {
    if (a.tree_roots[i] < 0 || a.tree_roots[i] >= nodes) {
      return fail(Code::bad_model, "tree_roots[{}] is {}, outside [0, {})", i, a.tree_roots[i], nodes);
    }
  }
  out.roots = a.tree_roots;
  return {};
}

Status write_tests(const TreeEnsembleAttrs& a, TreeVotesAttrs& out) {
  FRAZIL_TRY(const std::vector<double> tests, numbers_in("nodes_modes", a.nodes_modes, one(Elem::u8)));
  FRAZIL_TRY(const std::vector<double> splits, numbers_in("nodes_splits", a.nodes_splits, elems::kFloat));
  const std::size_t nodes = a.nodes_featureids.size(), missing = a.nodes_missing_value_tracks_true.size();
  if (tests.size() != nodes || splits.size() != nodes || (missing != 0 && missing != nodes)) {
    return fail(Code::bad_model, "{} nodes_modes, {} nodes_splits and {} nodes_missing_value_tracks_true for {} nodes",
                tests.size(), splits.size(), missing, nodes);
  }
  for (const double test : tests) out.tests.push_back(static_cast<std::int64_t>(test));
  out.splits = f64_tensor(splits);
  out.features = a.nodes_featureids;
  out.missing_is_yes = a.nodes_missing_value_tracks_true;
  if (!a.membership_values) return {};
  FRAZIL_TRY(const auto members, numbers_in("membership_values", *a.membership_values, elems::kFloat));
  out.members = f64_tensor(members);
  return {};
}

Result<TreeVotesAttrs> lists_of(const TreeEnsembleAttrs& a) {
  constexpr std::array<std::string_view, 4> aggregates{"AVERAGE", "SUM", "MIN", "MAX"};
  if (a.aggregate_function < 0 || a.aggregate_function > 3) {
    return fail(Code::bad_model, "aggregate_function {} is outside [0, 3]", a.aggregate_function);
  }
  TreeVotesAttrs out{.aggregate = std::string(aggregates[static_cast<std::size_t>(a.aggregate_function)])};
  FRAZIL_CHECK(write_leaves(a, out));
  FRAZIL_CHECK(write_tests(a, out));
  FRAZIL_CHECK(write_children(a, "true", a.nodes_truenodeids, a.nodes_trueleafs, out.yes));
  FRAZIL_CHECK(write_children(a, "false", a.nodes_falsenodeids, a.nodes_falseleafs, out.no));
  FRAZIL_CHECK(write_roots(a, out));
  return out;
}

}  // namespace

void tree_ensemble_body(CompositeCx& cx) {
  const auto& a = cx.attrs<TreeEnsembleAttrs>();
  if (a.post_transform < 0 || a.post_transform > 4) {
    return cx.error("post_transform {} is outside [0, 4]", a.post_transform);
  }
  auto lists = lists_of(a);
  if (!lists) return cx.stop(std::move(lists).error());
  const Expr x = rows(cx);
  if (!cx.status()) return;
  const Expr wide = TreeVotes({x}, std::move(*lists));
  const Elem work = compute_elem(cx.elem(0));
  const Expr scores = transformed(cx, as_elem(wide, work), static_cast<PostTransform>(a.post_transform));
  cx.out(0, as_elem(scores, cx.elem(0)));
}

}  // namespace frazil::ops
