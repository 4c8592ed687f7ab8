#include "plan/analyse/appends.h"

#include <algorithm>
#include <unordered_set>

#include "ir/op/op.h"
#include "plan/lower/bind.h"
#include "plan/lower/plan_writer.h"

namespace frazil {
namespace {

constexpr const char* kNotFirst = "it is not the first operand";
constexpr const char* kOtherAxes = "extents of other axes may change with it";
constexpr const char* kInBranch = "a branch makes it";
constexpr const char* kKnownLate = "its extents are known only when the run has begun";
constexpr const char* kTwice = "another output takes it";

/// Returns the position of `from` among the operands of a Concat; nullopt for other nodes.
std::optional<std::size_t> place_in_concat(const Graph& graph, const Needs& needs, NodeId id, Value from) {
  const Node& node = graph.node(id);
  if (!std::holds_alternative<View>(node.op->form) || !needs.node(id) || has_unranked_value(graph, id)) {
    return std::nullopt;
  }
  // Views of strings have no maps. `from` holds no strings, so the first operand, if of the same type, does not either.
  if (std::ranges::find(node.in, from) == node.in.end() || graph.type(node.in[0]).elem != graph.type(from).elem) {
    return std::nullopt;
  }
  const auto& maps = needs.views(id);
  if (maps.size() != 1 || maps[0].kind != ViewMap::Kind::concat) return std::nullopt;
  const auto first = node.in.begin() + maps[0].source;
  const auto at = std::find(first, node.in.end(), from);
  return at == node.in.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - first));
}

bool same_but(const Shape& a, const Shape& b, std::size_t axis) {
  if (a.size() != b.size()) return false;
  for (std::size_t d = 0; d < a.size(); ++d) {
    if (d != axis && a[d] != b[d]) return false;
  }
  return true;
}

}  // namespace

class AppendFinder {
 public:
  AppendFinder(const Graph& graph, Scope& scope, const Needs& needs, Appends& result)
      : graph_(graph), scope_(scope), needs_(needs), result_(result) {
    for (Value v : graph.main().params) {
      for (Dim d : graph.type(v).shape) {
        if (const auto s = graph.scope().as_symbol(d)) of_inputs_.insert(*s);
      }
    }
  }

  /// Tries the values that a loop carries: params that its variables feed, and the results that become these variables.
  void carried(NodeId region, const RegionFlow& flow) {
    for (const FlowOp& op : flow.flow.ops) {
      if (op.kind != FlowOp::Kind::set) continue;
      for (const auto& [variable, cell] : op.pairs) {
        const Value param = flow.variable_params[variable];
        if (cell.kind != Cell::Kind::result || !param) continue;
        try_append(param, graph_.block(cell.block).results[cell.index], region, std::nullopt);
      }
    }
  }

  /// Tries the values that requests may carry: results whose producer reads a graph input.
  void requested() {
    std::unordered_set<std::uint32_t> inputs, seen;
    for (Value v : graph_.main().params) inputs.insert(v.id);
    const auto& results = graph_.main().results;
    for (std::uint32_t k = 0; k < results.size(); ++k) {
      const auto made = graph_.producer(results[k]);
      if (!made || !seen.insert(results[k].id).second) continue;
      std::unordered_set<std::uint32_t> tried;
      for (const NodeId maker : makers(*made)) {
        for (const Value v : graph_.node(maker).in) {
          if (inputs.contains(v.id) && tried.insert(v.id).second) try_append(v, results[k], {}, k);
        }
      }
    }
  }

 private:
  /// Returns the node itself and the nodes that make the results of its blocks.
  std::vector<NodeId> makers(NodeId made) const {
    std::vector<NodeId> list{made};
    for (const BlockId b : graph_.node(made).blocks) {
      for (const Value v : graph_.block(b).results) {
        if (const auto inner = graph_.producer(v)) list.push_back(*inner);
      }
    }
    return list;
  }

  bool known_in_time(const Append& append, NodeId region) const {
    const Shape& shape = graph_.type(append.to).shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d].is_const() || (region && d == append.axis)) continue;
      if (region ? !is_outside(graph_, region, shape[d]) : !of_inputs(shape[d])) return false;
    }
    return true;
  }

  bool of_inputs(Dim d) const {
    return std::ranges::all_of(graph_.scope().symbols_of(d), [&](SymbolId s) { return of_inputs_.contains(s); });
  }

  void try_append(Value from, Value to, NodeId region, std::optional<std::uint32_t> output) {
    const auto made = graph_.producer(to);
    const Type& type = graph_.type(from);
    if (!made || !needs_.value(to) || Needs::is_known(graph_, to) || is_object(type)) return;
    const auto refuse = [&](const char* why) { result_.copied_.push_back({*made, from, why}); };
    for (const NodeId inner : makers(*made)) {
      if (inner != *made && place_in_concat(graph_, needs_, inner, from)) return refuse(kInBranch);
    }
    const auto place = place_in_concat(graph_, needs_, *made, from);
    if (!place) return;
    Append append{.node = *made, .from = from, .to = to};
    append.axis = static_cast<std::size_t>(needs_.views(*made)[0].axis);
    if (*place != 0) return refuse(kNotFirst);
    if (!same_but(type.shape, graph_.type(to).shape, append.axis)) return refuse(kOtherAxes);
    if (type.shape[append.axis] == graph_.type(to).shape[append.axis]) return;
    if (result_.appends_.contains(from.id)) return refuse(kTwice);
    if (!known_in_time(append, region)) return refuse(kKnownLate);
    if (output) by_request(append, *output);
    append.capacity = new_symbol();
    result_.appends_.emplace(from.id, append);
  }

  void by_request(Append& append, std::uint32_t output) {
    const auto& inputs = graph_.main().params;
    append.output = output;
    append.input = static_cast<std::uint32_t>(std::ranges::find(inputs, append.from) - inputs.begin());
    append.input_capacity = new_symbol();
  }

  SymbolId new_symbol() { return *scope_.as_symbol(scope_.unbacked({0, Dim::kMax})); }

  const Graph& graph_;
  Scope& scope_;
  const Needs& needs_;
  Appends& result_;
  std::unordered_set<SymbolId> of_inputs_;
};

Appends::Appends(const Graph& graph, Scope& scope, const Needs& needs, const RegionFlows& flows, bool enabled) {
  if (!enabled) return;
  AppendFinder finder(graph, scope, needs, *this);
  for (NodeId region : flows.regions()) finder.carried(region, flows.of(region));
  finder.requested();
}

const Append* Appends::of(Value from) const {
  const auto at = appends_.find(from.id);
  return at == appends_.end() ? nullptr : &at->second;
}

}  // namespace frazil
