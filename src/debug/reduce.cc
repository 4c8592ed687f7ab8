#include "debug/reduce.h"

#include <algorithm>
#include <map>
#include <set>

#include "debug/extract.h"
#include "ir/op/op.h"

namespace frazil::debug {
namespace {

/// A failure of a graph, and the first value that it affects.
struct Failure {
  std::string why, first;
  std::vector<std::int64_t> iterations;
};

Result<std::optional<Failure>> failure(const std::shared_ptr<const Graph>& graph, const BackendPair& ways,
                                       std::span<const Datum> inputs, Recording& want) {
  FRAZIL_TRY(const Recording got, record(graph, ways.got, inputs, ways.max_bytes));
  FRAZIL_TRY(want, record(graph, ways.want, inputs, ways.max_bytes));
  if (!want.status) return std::unexpected(want.status.error());
  const Comparison comparison = compare(got, want, ways.closeness);
  if (!got.status) {
    const auto made = [&](const Recording::Made& m) {
      return std::ranges::find(got.values, m.name, &Recording::Made::name) != got.values.end();
    };
    const auto missing = std::ranges::find_if_not(want.values, made);
    Failure failed{.why = got.status.error().text()};
    if (missing != want.values.end()) failed.first = missing->name, failed.iterations = missing->iterations;
    return failed;
  }
  if (!comparison.first) return std::nullopt;
  const Difference& d = *comparison.first;
  return Failure{fmt::format("value '{}': {}", d.name, d.what), d.name, d.iterations};
}

class Reducer {
 public:
  Reducer(const std::shared_ptr<const Graph>& graph, const BackendPair& ways, std::span<const Datum> inputs)
      : graph_(graph), ways_(ways), inputs_(inputs), sites_(graph) {}

  Result<Reduced> run() {
    Recording want;
    FRAZIL_TRY(const auto failed, failure(graph_, ways_, inputs_, want));
    if (!failed) return fail(Code::bad_input, "the model does not fail: both ways agree");
    keep_values(want, failed->iterations);
    FRAZIL_TRY(const std::size_t site, sites_.require(failed->first));
    if (!sites_[site].node) return fail(Code::unsupported, "'{}' is not a result of a node", failed->first);
    return grow(sites_[site].node);
  }

 private:
  /// Adds the producers of the part's inputs until the part fails.
  Result<Reduced> grow(NodeId last) {
    std::set<std::uint32_t> nodes{last.id};
    while (true) {
      FRAZIL_TRY(auto part, attempt(nodes, last));
      if (part) return *std::move(part);
      if (!widen(nodes))
        return fail(Code::unsupported, "no part of the model in front of {} fails alone", graph_->describe(last));
    }
  }

  Result<std::optional<Reduced>> attempt(const std::set<std::uint32_t>& nodes, NodeId last) {
    std::vector<Value> results;
    for (const Value v : graph_->node(last).out) {
      if (v) results.push_back(v);
    }
    FRAZIL_TRY(Extracted part, extract(*graph_, nodes, values_, results));
    Reduced reduced;
    for (const Value v : part.inputs) {
      const Datum* value = value_of(v);
      if (value == nullptr) return std::nullopt;
      reduced.inputs.push_back(*value);
    }
    const auto graph = std::make_shared<const Graph>(std::move(part.graph));
    Recording ignored;
    const auto failed = failure(graph, ways_, reduced.inputs, ignored);
    if (!failed || !*failed) return std::nullopt;
    reduced.graph = *graph;
    reduced.why = (*failed)->why;
    return reduced;
  }

  /// Adds the producers of the nodes' inputs. Returns false if there are none.
  bool widen(std::set<std::uint32_t>& nodes) const {
    std::set<std::uint32_t> more;
    for (const std::uint32_t n : nodes) {
      for (const Value v : graph_->node(NodeId{n}).in) {
        const auto maker = v ? graph_->producer(v) : std::nullopt;
        const bool inside = maker && graph_->node(*maker).parent == graph_->node(NodeId{n}).parent;
        if (inside && !nodes.contains(maker->id)) more.insert(maker->id);
      }
    }
    nodes.insert(more.begin(), more.end());
    return !more.empty();
  }

  /// Keeps values of the second backend: those of the same iterations, or else the last ones.
  void keep_values(const Recording& want, const std::vector<std::int64_t>& iterations) {
    std::map<std::string_view, const Recording::Made*> chosen;
    const auto fits = [&](const Recording::Made& made) {
      return made.iterations.size() <= iterations.size() &&
             std::equal(made.iterations.begin(), made.iterations.end(), iterations.begin());
    };
    for (const auto& made : want.values) {
      const Recording::Made*& at = chosen[made.name];
      if (at == nullptr || fits(made) || !fits(*at)) at = &made;
    }
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      const auto made = chosen.find(sites_[i].name);
      if (made != chosen.end()) values_.emplace_back(sites_[i].value, made->second->value);
    }
    const auto& params = graph_->main().params;
    for (std::size_t i = 0; i < params.size() && i < inputs_.size(); ++i) values_.emplace_back(params[i], inputs_[i]);
  }

  const Datum* value_of(Value v) const {
    const auto at = std::ranges::find(values_, v, &std::pair<Value, Datum>::first);
    return at == values_.end() || at->second.empty() ? nullptr : &at->second;
  }

  const std::shared_ptr<const Graph>& graph_;
  const BackendPair& ways_;
  const std::span<const Datum> inputs_;
  const Sites sites_;
  std::vector<std::pair<Value, Datum>> values_;  // inputs, and values of the second backend
};

}  // namespace

Result<Reduced> reduce(const std::shared_ptr<const Graph>& graph, const BackendPair& ways,
                       std::span<const Datum> inputs) {
  return Reducer(graph, ways, inputs).run();
}

}  // namespace frazil::debug
