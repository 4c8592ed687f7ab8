#include "ops/ml/tree.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/thread/poll_throttle.h"
#include "base/value/text.h"

namespace frazil::ops {
namespace {

constexpr std::int64_t kMaxTargets = std::int64_t{1} << 31;

std::vector<double> doubles(const std::optional<Tensor>& tensor) {
  std::vector<double> values(tensor ? static_cast<std::size_t>(tensor->count()) : 0);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor->number_at(static_cast<std::int64_t>(i));
  return values;
}

/// A builder of a Forest from untrusted lists.
class ForestMaker {
 public:
  explicit ForestMaker(const TreeVotesAttrs& a) : a_(a), count_(a.features.size()) {}

  Result<Forest> make() {
    FRAZIL_CHECK(check_lengths());
    FRAZIL_CHECK(add_votes());
    FRAZIL_CHECK(add_sets());
    FRAZIL_CHECK(add_nodes());
    for (std::size_t i = 0; i < a_.roots.size(); ++i) {
      FRAZIL_TRY(const std::int32_t root, place("roots", i, a_.roots[i]));
      forest_.roots.push_back(root);
    }
    FRAZIL_CHECK(check_ends());
    return std::move(forest_);
  }

 private:
  Status check_length(std::string_view name, std::size_t count) const {
    if (count == count_) return {};
    return fail(Code::bad_model, "{} has {} entries for {} nodes", name, count, count_);
  }

  Status check_lengths() {
    splits_ = doubles(a_.splits);
    if (count_ >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      return fail(Code::limit, "{} nodes are too many", count_);
    }
    FRAZIL_CHECK(check_length("tests", a_.tests.size()));
    FRAZIL_CHECK(check_length("splits", splits_.size()));
    FRAZIL_CHECK(check_length("yes", a_.yes.size()));
    FRAZIL_CHECK(check_length("no", a_.no.size()));
    return a_.missing_is_yes.empty() ? Status{} : check_length("missing_is_yes", a_.missing_is_yes.size());
  }

  Status add_votes() {
    forest_.vote_weight = doubles(a_.vote_weights);
    const std::size_t votes = a_.vote_targets.size();
    if (a_.targets < 1 || a_.targets >= kMaxTargets) {
      return fail(Code::bad_model, "targets {} is outside [1, {})", a_.targets, kMaxTargets);
    }
    if (forest_.vote_weight.size() != votes) {
      return fail(Code::bad_model, "{} weights for {} votes", forest_.vote_weight.size(), votes);
    }
    for (std::size_t i = 0; i < votes; ++i) {
      const std::int64_t target = a_.vote_targets[i];
      if (target < 0 || target >= a_.targets) {
        return fail(Code::bad_model, "vote {} is for target {}, outside [0, {})", i, target, a_.targets);
      }
      forest_.vote_target.push_back(static_cast<std::int32_t>(target));
    }
    const auto end = static_cast<std::int64_t>(votes);
    const bool closed = !a_.votes_from.empty() && a_.votes_from.front() == 0 && a_.votes_from.back() == end;
    if (!closed || !std::ranges::is_sorted(a_.votes_from)) {
      return fail(Code::bad_model, "votes_from does not ascend from 0 to {}", end);
    }
    forest_.votes_from = a_.votes_from;
    return {};
  }

  Status add_sets() {
    forest_.set_from.push_back(0);
    for (const double member : doubles(a_.members)) {
      if (std::isnan(member))
        forest_.set_from.push_back(forest_.members.size());
      else
        forest_.members.push_back(member);
    }
    if (forest_.set_from.back() != forest_.members.size()) forest_.set_from.push_back(forest_.members.size());
    for (std::size_t i = 0; i + 1 < forest_.set_from.size(); ++i) {
      const auto at = [&](std::size_t k) { return forest_.members.begin() + static_cast<std::ptrdiff_t>(k); };
      std::sort(at(forest_.set_from[i]), at(forest_.set_from[i + 1]));
    }
    const auto sets = forest_.set_from.size() - 1;
    const auto uses =
        static_cast<std::size_t>(std::ranges::count(a_.tests, static_cast<std::int64_t>(Forest::Test::member)));
    if (sets == uses) return {};
    return fail(Code::bad_model, "{} sets of members for {} nodes that test one", sets, uses);
  }

  Result<std::int32_t> place(std::string_view name, std::size_t i, std::int64_t at) const {
    const auto leaves = static_cast<std::int64_t>(a_.votes_from.size()) - 1;
    if (at >= -leaves && at < static_cast<std::int64_t>(count_)) return static_cast<std::int32_t>(at);
    return fail(Code::bad_model, "{}[{}] is {}: there are {} nodes and {} leaves", name, i, at, count_, leaves);
  }

  Status add_nodes() {
    std::size_t sets = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::int64_t test = a_.tests[i], feature = a_.features[i];
      if (test < 0 || test > static_cast<std::int64_t>(Forest::Test::member)) {
        return fail(Code::bad_model, "node {} has test {}, outside [0, 6]", i, test);
      }
      if (feature < 0 || feature >= std::numeric_limits<std::int32_t>::max()) {
        return fail(Code::bad_model, "node {} tests feature {}", i, feature);
      }
      FRAZIL_TRY(const std::int32_t yes, place("yes", i, a_.yes[i]));
      FRAZIL_TRY(const std::int32_t no, place("no", i, a_.no[i]));
      const bool missing_is_yes = !a_.missing_is_yes.empty() && a_.missing_is_yes[i] != 0;
      Forest::Node node{
          splits_[i], static_cast<std::int32_t>(feature), {no, yes}, static_cast<Forest::Test>(test), missing_is_yes};
      if (node.test == Forest::Test::member) node.split = static_cast<double>(sets++);
      forest_.all_leq = forest_.all_leq && node.test == Forest::Test::leq;
      forest_.features = std::max(forest_.features, feature + 1);
      forest_.nodes.push_back(node);
    }
    return {};
  }

  /// Checks that every walk ends: removes nodes without predecessors until no node is left.
  Status check_ends() const {
    std::vector<std::int64_t> leads(count_, 0);
    const auto each_child = [&](const Forest::Node& node, auto f) {
      for (const std::int32_t child : node.next) {
        if (child >= 0) f(static_cast<std::size_t>(child));
      }
    };
    for (const Forest::Node& node : forest_.nodes) each_child(node, [&](std::size_t child) { ++leads[child]; });
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < count_; ++i) {
      if (leads[i] == 0) free.push_back(i);
    }
    std::size_t left = count_;
    while (!free.empty()) {
      const std::size_t at = free.back();
      free.pop_back();
      --left;
      each_child(forest_.nodes[at], [&](std::size_t child) {
        if (--leads[child] == 0) free.push_back(child);
      });
    }
    if (left == 0) return {};
    const auto first = std::ranges::find_if(leads, [](std::int64_t n) { return n > 0; }) - leads.begin();
    return fail(Code::bad_model, "{} nodes are on a cycle or reached only from one, the first is {}", left, first);
  }

  const TreeVotesAttrs& a_;
  std::size_t count_;
  std::vector<double> splits_;
  Forest forest_;
};

Result<std::shared_ptr<const Forest>> forest_of(const TreeVotesAttrs& a) {
  return a.forest.get([&] { return ForestMaker(a).make(); });
}

bool passes(const Forest& f, const Forest::Node& n, double x) {
  switch (n.test) {
    case Forest::Test::leq: return x <= n.split;
    case Forest::Test::lt: return x < n.split;
    case Forest::Test::gte: return x >= n.split;
    case Forest::Test::gt: return x > n.split;
    case Forest::Test::eq: return x == n.split;
    case Forest::Test::neq: return x != n.split;
    case Forest::Test::member: break;
  }
  const auto set = static_cast<std::size_t>(n.split);
  const auto at = [&](std::size_t k) { return f.members.begin() + static_cast<std::ptrdiff_t>(k); };
  return std::binary_search(at(f.set_from[set]), at(f.set_from[set + 1]), x);
}

/// Returns the leaf that a row reaches. `steps` counts the visited nodes.
template <bool AllLeq, class T>
std::int32_t walk(const Forest& f, std::int32_t at, const T* row, std::int64_t& steps) {
  while (at >= 0) {
    const Forest::Node& n = f.nodes[static_cast<std::size_t>(at)];
    const auto x = static_cast<double>(row[n.feature]);
    const bool yes = std::isnan(x) ? n.missing_is_yes : AllLeq ? x <= n.split : passes(f, n, x);
    at = n.next[static_cast<std::size_t>(yes)];
    ++steps;
  }
  return ~at;
}

enum class Aggregate : std::uint8_t { sum, average, min, max };

std::optional<Aggregate> aggregate_of(std::string_view name) {
  constexpr std::array<std::string_view, 4> names{"SUM", "AVERAGE", "MIN", "MAX"};
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Aggregate>(at - names.begin());
}

/// One run over all rows. Evaluates one tree at a time over a block of rows, so that the tree stays in the cache.
struct ForestRun {
  const Forest& forest;
  Aggregate aggregate;
  std::int64_t columns, targets;
  double* out;
  std::uint8_t* has_vote;  ///< one per element of out, for MIN and MAX

  void vote(double* row, std::uint8_t* has, std::int32_t leaf) const {
    const auto begin = static_cast<std::size_t>(forest.votes_from[static_cast<std::size_t>(leaf)]);
    const auto end = static_cast<std::size_t>(forest.votes_from[static_cast<std::size_t>(leaf) + 1]);
    for (std::size_t v = begin; v < end; ++v) {
      const auto target = static_cast<std::size_t>(forest.vote_target[v]);
      const double weight = forest.vote_weight[v];
      double& sum = row[target];
      if (has == nullptr) {
        sum += weight;
      } else {
        sum = has[target] == 0 ? weight : aggregate == Aggregate::min ? std::min(sum, weight) : std::max(sum, weight);
        has[target] = 1;
      }
    }
  }

  template <bool AllLeq, class T>
  void run(const T* x, std::int64_t rows) const {
    constexpr std::int64_t kBlock = 64;
    PollThrottle throttle;
    for (std::int64_t from = 0; from < rows; from += kBlock) {
      const std::int64_t to = std::min(rows, from + kBlock);
      for (const std::int32_t root : forest.roots) {
        for (std::int64_t r = from; r < to; ++r) {
          std::int64_t steps = 1;
          const std::int32_t leaf = walk<AllLeq>(forest, root, x + r * columns, steps);
          vote(out + r * targets, has_vote == nullptr ? nullptr : has_vote + r * targets, leaf);
          if (throttle.stop(4 * steps)) return;
        }
      }
    }
  }

  template <class T>
  void run(const T* x, std::int64_t rows) const {
    forest.all_leq ? run<true>(x, rows) : run<false>(x, rows);
  }
};

}  // namespace

Status tree_votes_types(InferCx& cx) {
  const auto& a = cx.attrs<TreeVotesAttrs>();
  const auto forest = forest_of(a);
  if (!forest) return cx.error("{}", forest.error().text());
  if (!aggregate_of(a.aggregate)) {
    return cx.error("aggregate '{}' is not one of SUM, AVERAGE, MIN, MAX", printable(a.aggregate));
  }
  if (cx.rank(0) != 2) return cx.error("input 'X' must be [N, F], got {}", cx.type_str(0));
  const Dim columns = cx.shape(0)[1];
  if (columns.is_const() && columns.value() < (*forest)->features) {
    return cx.error("input 'X' has {} columns, the trees test column {}", columns.value(), (*forest)->features - 1);
  }
  cx.out(0, Type::tensor(Elem::f64, {cx.shape(0)[0], Dim(a.targets)}));
  return {};
}

Status tree_votes_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  const auto& a = call.attrs<TreeVotesAttrs>();
  FRAZIL_TRY(const auto forest, forest_of(a));
  const std::int64_t rows = x.sizes[0], columns = x.sizes[1];
  if (columns < forest->features) {
    return fail(Code::bad_input, "input 'X' has {} columns, the trees test column {}", columns, forest->features - 1);
  }
  FRAZIL_TRY(std::byte * out, call.out(0, std::array{rows, a.targets}));
  const auto total = static_cast<std::size_t>(rows * a.targets);
  const Aggregate aggregate = *aggregate_of(a.aggregate);
  ForestRun run{*forest, aggregate, columns, a.targets, reinterpret_cast<double*>(out), nullptr};
  std::fill_n(run.out, total, 0.0);
  if (aggregate == Aggregate::min || aggregate == Aggregate::max) {
    FRAZIL_TRY(std::byte * scratch, call.scratch(total));
    run.has_vote = reinterpret_cast<std::uint8_t*>(scratch);
    std::fill_n(run.has_vote, total, std::uint8_t{0});
  }
  x.elem == Elem::f32 ? run.run(x.as<float>().data(), rows) : run.run(x.as<double>().data(), rows);
  if (aggregate == Aggregate::average && !forest->roots.empty()) {
    for (std::size_t i = 0; i < total; ++i) run.out[i] /= static_cast<double>(forest->roots.size());
  }
  return {};
}

}  // namespace frazil::ops
