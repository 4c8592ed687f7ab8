#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "ir/edit/rebuild.h"
#include "ops/control/control.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/index/index.h"
#include "pass/engine/rules.h"
#include "pass/loops/loops.h"

// Loops with a counter in a carried value.
namespace frazil::pass {
namespace {

/// A carried value that increases by 1 in each iteration; the loop continues while it is below the limit.
struct Counter {
  std::size_t param = 0;   ///< index of the body's param
  std::int64_t first = 0;  ///< value in the first iteration; not negative
  Value limit;             ///< defined outside the loop
  bool begins = false;     ///< the initial condition is `first` < limit
};

struct CountedLoop {
  std::vector<Counter> counters;
  NodeId condition;       ///< in the body: decides whether the loop continues
  bool replaces = false;  ///< the counters also determine the initial condition
};

/// Returns true for the trip count that exporters use for "no limit".
bool is_endless(const Graph& graph, Value trips) {
  const Constant* c = graph.constant(trips);
  return c && c->tensor.as<std::int64_t>()[0] == std::numeric_limits<std::int64_t>::max();
}

bool is_scalar(const Graph& graph, Value v) {
  const Type& type = graph.type(v);
  return type.is_tensor() && type.ranked && type.rank() == 0;
}

/// The condition a < b.
struct Below {
  Value a, b;
};
std::optional<Below> below(const Node& node) {
  if (!node.constraints.empty()) return std::nullopt;
  if (node.op == &ops::Less) return Below{node.in[0], node.in[1]};
  if (node.op == &ops::Greater) return Below{node.in[1], node.in[0]};
  return std::nullopt;
}

/// Calls f for each operand of the conjunction `v`. Returns false if f does, or if v is not a conjunction.
template <class F>
bool all_conditions(const Graph& graph, Value v, F f) {
  std::vector<Value> open{v};
  while (!open.empty()) {
    const Value now = open.back();
    open.pop_back();
    if (known(graph, now) == 1) continue;
    const auto id = graph.producer(now);
    if (!id) return false;
    const Node& node = graph.node(*id);
    if (node.op == &ops::And && node.constraints.empty()) {
      open.insert(open.end(), node.in.begin(), node.in.end());
      continue;
    }
    const auto condition = below(node);
    if (!condition || !f(*condition)) return false;
  }
  return true;
}

class CounterFinder {
 public:
  explicit CounterFinder(const Graph& graph) : graph_(graph), uses_(graph) {}

  std::optional<CountedLoop> find(const Node& loop) const {
    if (loop.op != &ops::Loop || !loop.constraints.empty() || loop.in.size() < 3) return std::nullopt;
    const Block& body = graph_.block(loop.blocks[0]);
    const Value goes_on = body.results[0];
    const auto condition = graph_.producer(goes_on);
    if (!condition || graph_.node(*condition).parent != loop.blocks[0]) return std::nullopt;
    if (uses_.count[goes_on.id] != 1 || !is_scalar(graph_, goes_on)) return std::nullopt;
    if (loop.in[0] && !is_scalar(graph_, loop.in[0])) return std::nullopt;
    CountedLoop found{.counters = {}, .condition = *condition};
    const bool counted = all_conditions(graph_, goes_on, [&](const Below& b) {
      const auto counter = counter_of(loop, b);
      if (counter) found.counters.push_back(*counter);
      return counter.has_value();
    });
    if (!counted || found.counters.empty()) return std::nullopt;
    find_beginning(loop, found);
    return found;
  }

 private:
  std::optional<Counter> counter_of(const Node& loop, const Below& b) const {
    const Block& body = graph_.block(loop.blocks[0]);
    const auto result = std::ranges::find(body.results.begin() + 1, body.results.end(), b.a);
    const auto param = static_cast<std::size_t>(result - body.results.begin()) + 1;
    if (param >= loop.in.size() || !is_next(body.params[param], b.a)) return std::nullopt;
    const auto first = known(graph_, loop.in[param]);
    const Value limit = outside(loop, b.b);
    if (!first || *first < 0 || *first >= std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    if (!limit || !is_scalar(graph_, limit)) return std::nullopt;
    return Counter{param, *first, limit};
  }

  /// Returns true if `next` is v + 1.
  bool is_next(Value v, Value next) const {
    const auto id = graph_.producer(next);
    if (!id || graph_.node(*id).op != &ops::Add || !is_scalar(graph_, next)) return false;
    const Elem elem = graph_.type(next).elem;
    if (elem != Elem::i32 && elem != Elem::i64) return false;
    const auto& in = graph_.node(*id).in;
    return (in[0] == v && known(graph_, in[1]) == 1) || (in[1] == v && known(graph_, in[0]) == 1);
  }

  /// Returns v itself, or its value outside if the loop passes it on unchanged.
  Value outside(const Node& loop, Value v) const {
    const BlockId block = loop.blocks[0];
    if (graph_.block_of(v) != block) return v;
    const Block& body = graph_.block(block);
    const auto at = static_cast<std::size_t>(std::ranges::find(body.params, v) - body.params.begin());
    return at >= 2 && at < body.params.size() && body.results[at - 1] == v ? loop.in[at] : Value{};
  }

  /// Finds out whether the initial condition is that of the counters.
  void find_beginning(const Node& loop, CountedLoop& found) const {
    if (!loop.in[1]) return;
    std::vector<Counter> counters = found.counters;
    found.replaces = all_conditions(graph_, loop.in[1], [&](const Below& b) {
      const auto same = [&](const Counter& c) { return known(graph_, b.a) == c.first && is_same(b.b, c.limit); };
      const auto at = std::ranges::find_if(counters, same);
      if (at == counters.end()) return false;
      at->begins = true;
      return true;
    });
    if (found.replaces) found.counters = std::move(counters);
  }

  bool is_same(Value a, Value b) const {
    const std::vector<Dim>*x = graph_.known_value(a), *y = graph_.known_value(b);
    return a == b || (x && y && *x == *y);
  }

  const Graph& graph_;
  Uses uses_;
};

class CountWriter : public Rewriter {
 public:
  explicit CountWriter(std::unordered_map<std::uint32_t, CountedLoop> loops) : loops_(std::move(loops)) {
    for (const auto& [region, loop] : loops_) conditions_.insert(loop.condition.id);
  }

  Status open(const Graph& from, NodeId region, Builder& outer, const std::function<Value(Value)>& now,
              std::vector<Value>& inputs) override {
    const auto at = loops_.find(region.id);
    if (at == loops_.end()) return {};
    const Value given = from.node(region).in[0];
    Expr trips{&outer, given && !is_endless(from, given) ? inputs[0] : Value{}};
    for (const Counter& c : at->second.counters) {
      const Expr limit = ops::as_elem({&outer, now(c.limit)}, Elem::i64);
      const Expr first = outer.scalar(c.first), least = outer.scalar(c.begins ? c.first : c.first + 1);
      const Expr times = ops::Sub(ops::Max2(limit, least), first);
      trips = trips ? ops::Min2(trips, times) : times;
    }
    FRAZIL_CHECK(outer.status());
    inputs[0] = trips.value;
    if (at->second.replaces) inputs[1] = outer.scalar(true).value;
    return {};
  }

  Result<std::optional<std::vector<Value>>> rewrite(const Graph& from, NodeId id, Builder& to,
                                                    std::span<const Value> inputs) override {
    if (conditions_.contains(id.id)) return std::vector{to.scalar(true).value};
    const Node& node = from.node(id);
    if (node.parent == Graph::kMain) return std::nullopt;
    const auto at = loops_.find(from.block(node.parent).owner.id);
    if (at == loops_.end()) return std::nullopt;
    std::vector<Value> changed(inputs.begin(), inputs.end());
    for (std::size_t i = 0; i < changed.size(); ++i) {
      if (numbers_iterations(from, node, i, at->second)) changed[i] = to.graph().block(to.block()).params[0];
    }
    if (std::ranges::equal(changed, inputs)) return std::nullopt;
    std::vector<bool> wanted;
    for (Value v : node.out) wanted.push_back(static_cast<bool>(v));
    FRAZIL_TRY(const NodeId made, to.append(*node.op, std::move(changed), node.attrs, wanted, node.name));
    return to.graph().node(made).out;
  }

 private:
  /// Returns true for a counter from 0 that the iteration number can replace: it has the same type, or it is an index.
  static bool numbers_iterations(const Graph& from, const Node& node, std::size_t input, const CountedLoop& loop) {
    const Value v = node.in[input];
    if (!v) return false;
    const auto& params = from.block(node.parent).params;
    const auto is_it = [&](const Counter& c) { return c.first == 0 && params[c.param] == v; };
    if (std::ranges::none_of(loop.counters, is_it)) return false;
    return from.type(v).elem == Elem::i64 || (node.op == &ops::Gather && input == 1);
  }

  std::unordered_map<std::uint32_t, CountedLoop> loops_;  // by region node
  std::unordered_set<std::uint32_t> conditions_;          // node ids
};

}  // namespace

Result<std::optional<Graph>> count_iterations(const Graph& graph, const PassOptions&, std::string& note) {
  if (graph.block_count() == 1) return std::nullopt;
  const CounterFinder finder(graph);
  std::unordered_map<std::uint32_t, CountedLoop> loops;
  for (const NodeId id : graph.nodes()) {
    if (auto found = finder.find(graph.node(id))) loops.emplace(id.id, std::move(*found));
  }
  if (loops.empty()) return std::nullopt;
  note = fmt::format("{} loops counted", loops.size());
  CountWriter writer(std::move(loops));
  FRAZIL_TRY(Graph made, rebuild(graph, writer));
  return made;
}

}  // namespace frazil::pass
