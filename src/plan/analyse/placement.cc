#include "plan/analyse/placement.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/op/axis.h"
#include "ir/op/op.h"
#include "plan/lower/bind.h"
#include "plan/lower/plan_writer.h"
#include "plan/model/layout.h"

namespace frazil {

class PlacementFinder {
 public:
  PlacementFinder(const Graph& graph, Scope& scope, const Needs& needs, const Fusion& fusion, const RegionFlows& flows,
                  const Appends& appends, bool rows, Placements& result)
      : graph_(graph),
        scope_(scope),
        needs_(needs),
        fusion_(fusion),
        flows_(flows),
        appends_(appends),
        rows_(rows),
        result_(result),
        viewed_(graph.value_count()) {
    for (Value v : graph.main().params) {
      for (Dim d : graph.type(v).shape) {
        if (const auto s = graph.scope().as_symbol(d)) of_inputs_.insert(*s);
      }
    }
    for (const NodeId n : graph.nodes()) find_views(n);
  }

  /// Places the results of a region in the order of its flow. The first place that takes a value keeps it.
  void region(NodeId id) {
    const RegionFlow& region = flows_.of(id);
    for (std::uint32_t a = 0; a < region.flow.accumulators; ++a) stacked(id, region, a);
    std::vector<bool> set(region.flow.variables);
    for (const FlowOp& op : region.flow.ops) {
      switch (op.kind) {
        case FlowOp::Kind::gather: gather(id, region, op); break;
        case FlowOp::Kind::output: join_output(id, region, op); break;
        case FlowOp::Kind::set:
          for (const auto& [variable, cell] : op.pairs) {
            if (set[variable]) carry(id, region, variable, cell);
            set[variable] = true;
          }
          break;
        default: break;
      }
    }
  }

 private:
  /// Marks the values that a node's results are views of. They keep their memory.
  void find_views(NodeId id) {
    if (!needs_.node(id)) return;
    const Node& node = graph_.node(id);
    if (picked_axis(graph_, id)) viewed_[node.in[0].id] = true;
    if (!std::holds_alternative<View>(node.op->form) || !is_plain_view(id)) return;
    for (std::size_t k = 0; k < node.out.size(); ++k) {
      const ViewMap& map = needs_.views(id)[k];
      const bool view = map.kind == ViewMap::Kind::reshape || (map.kind == ViewMap::Kind::affine && is_view(map));
      if (view && node.out[k] && needs_.value(node.out[k]))
        viewed_[node.in[static_cast<std::size_t>(map.source)].id] = true;
    }
  }

  bool is_plain_view(NodeId id) const {
    return !is_object(graph_.type(graph_.node(id).in[0])) && !has_unranked_value(graph_, id);
  }

  static bool is_view(const ViewMap& map) {
    return is_direct(map) && std::ranges::none_of(map.axes, [](const auto& a) { return a.edge == Edge::fill; });
  }

  /// Returns true for a result without views that steps write in full, into memory of its own. With `by_kernels`, the
  /// steps must be kernels that write to a given location.
  bool is_owned(Value v, bool by_kernels) const {
    const auto made = graph_.producer(v);
    if (!made || viewed_[v.id] || is_object(graph_.type(v)) || Needs::is_known(graph_, v)) return false;
    const Node& node = graph_.node(*made);
    if (std::holds_alternative<Region>(node.op->form)) return is_owned_output(*made, v, by_kernels);
    if (picked_axis(graph_, *made)) return false;
    if (std::holds_alternative<View>(node.op->form) && is_plain_view(*made))
      return is_written_view(*made, v, by_kernels);
    if (!by_kernels) return true;
    const auto& binding = fusion_.binding(*made);
    return fusion_.group(*made) != nullptr ||
           (binding && binding->kernel() != Kernel::opaque && binding->kernel() != Kernel::reference);
  }

  /// Returns true for a view that copies: a Concat that does not append, a Pad, or a map that repeats or mirrors.
  bool is_written_view(NodeId id, Value v, bool by_kernels) const {
    const Node& node = graph_.node(id);
    const ViewMap& map = needs_.views(id)[graph_.def(v).index];
    if (map.kind == ViewMap::Kind::reshape) return false;
    if (map.kind == ViewMap::Kind::affine) return !is_view(map) && !(by_kernels && needs_reference(map));
    const Append* append = appends_.of(node.in[static_cast<std::size_t>(map.source)]);
    return append == nullptr || append->node != id;
  }

  /// Returns true if the reference executor may serve the map; see NodeLowering::affine.
  static bool needs_reference(const ViewMap& map) { return !is_direct(map); }

  /// Returns true for an output that several branches write. With `by_kernels`, kernels must write it in each of them.
  bool is_owned_output(NodeId id, Value v, bool by_kernels) const {
    const std::uint32_t k = graph_.def(v).index;
    if (flows_.of(id).output_counts[k] < 2) return false;
    if (!by_kernels) return true;
    return std::ranges::all_of(flows_.of(id).flow.ops, [&](const FlowOp& op) {
      if (op.kind != FlowOp::Kind::output || op.index != k) return true;
      if (op.a.kind != Cell::Kind::result) return false;
      const Value r = graph_.block(op.a.block).results[op.a.index];
      return !is_object(graph_.type(r)) && (result_.of(r).kind != Placement::Kind::joined || is_owned(r, true));
    });
  }

  bool at_start(const Shape& shape) const {
    return std::ranges::all_of(shape, [&](Dim d) {
      return d.is_const() ||
             std::ranges::all_of(scope_.symbols_of(d), [&](SymbolId s) { return of_inputs_.contains(s); });
    });
  }

  void stacked(NodeId id, const RegionFlow& region, std::uint32_t a) {
    const auto output = region.output_of(a);
    if (!rows_ || !region.iteration || !output) return;
    const Value out = graph_.node(id).out[*output];
    if (!out || !needs_.value(out) || is_object(graph_.type(out)) || !at_start(graph_.type(out).shape)) return;
    result_.stacked_.emplace_back(id, a);
  }

  void take(Value v, Placement placement) { result_.of_[v.id] = placement; }
  bool is_free(Value v) const { return result_.of_[v.id].kind == Placement::Kind::own; }

  void gather(NodeId id, const RegionFlow& region, const FlowOp& op) {
    if (!rows_ || !region.iteration || op.a.kind != Cell::Kind::result) return;
    const Value v = graph_.block(op.a.block).results[op.a.index];
    const Type& type = graph_.type(v);
    const bool stacked = result_.is_stacked(id, op.index);
    if (!stacked &&
        (is_object(type) || !std::ranges::all_of(type.shape, [&](Dim d) { return is_outside(graph_, id, d); })))
      return;
    if (!is_own_result(graph_, op.a) || !is_free(v) || !is_owned(v, true)) return;
    if (!stacked ||
        fits_row(graph_.type(graph_.node(id).out[*region.output_of(op.index)]).shape, type.shape, op.axis)) {
      take(v, {Placement::Kind::row, id, op.index});
    }
  }

  /// Returns true if the part along `axis` of a result of extents `whole` has extents `part` and contains no padding.
  bool fits_row(const Shape& whole, const Shape& part, std::int64_t axis) const {
    const Layout row = at_position(scope_, row_major(scope_, whole), from_front(axis, whole.size()), 0);
    return row.shape == part && is_row_major(scope_, row);
  }

  void join_output(NodeId id, const RegionFlow& region, const FlowOp& op) {
    const Value out = graph_.node(id).out[op.index];
    if (region.output_counts[op.index] < 2 || !out || !needs_.value(out) || !is_own_result(graph_, op.a)) return;
    const Value v = graph_.block(op.a.block).results[op.a.index];
    const Shape &from = graph_.type(v).shape, &to = graph_.type(out).shape;
    const bool outside =
        std::ranges::all_of(to, [&](Dim d) { return is_outside(graph_, id, d) && !is_own_extent(id, d); });
    const bool same_bytes = product(scope_, from) == product(scope_, to);
    if (is_free(v) && !is_object(graph_.type(out)) && outside && same_bytes && is_owned(v, false)) {
      take(v, {Placement::Kind::joined, id, op.index});
    }
  }

  /// Returns true for an extent that the region's flow sets after a branch has run.
  bool is_own_extent(NodeId region, Dim d) const {
    return !d.is_const() && std::ranges::any_of(scope_.symbols_of(d), [&](SymbolId s) {
      const auto origin = graph_.extent_origin(s);
      return origin && graph_.producer(origin->value) == region;
    });
  }

  /// Places a value that a variable receives at the back edge.
  void carry(NodeId id, const RegionFlow& region, std::uint32_t variable, const Cell& cell) {
    const Value param = region.variable_params[variable];
    if (!param || appends_.of(param) != nullptr || is_object(graph_.type(param))) return;
    if (!is_own_result(graph_, cell)) return;
    const Value v = graph_.block(cell.block).results[cell.index];
    if (is_free(v) && is_owned(v, false)) take(v, {Placement::Kind::carried, id, variable});
  }

  const Graph& graph_;
  Scope& scope_;
  const Needs& needs_;
  const Fusion& fusion_;
  const RegionFlows& flows_;
  const Appends& appends_;
  const bool rows_;
  Placements& result_;
  std::vector<bool> viewed_;  // per value
  std::unordered_set<SymbolId> of_inputs_;
};

Placements::Placements(const Graph& graph, Scope& scope, const Needs& needs, const Fusion& fusion,
                       const RegionFlows& flows, const Appends& appends, bool rows_enabled)
    : of_(graph.value_count()) {
  PlacementFinder finder(graph, scope, needs, fusion, flows, appends, rows_enabled, *this);
  // Inner regions first: outer ones query their placements.
  std::vector<std::uint32_t> depth(graph.block_count());
  for (std::uint32_t b = 1; b < depth.size(); ++b) depth[b] = depth[graph.block(BlockId{b}).parent.id] + 1;
  std::vector<NodeId> order = flows.regions();
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](NodeId n) { return depth[graph.node(n).parent.id]; });
  for (NodeId region : order) finder.region(region);
}

bool Placements::is_stacked(NodeId region, std::uint32_t accumulator) const {
  return std::ranges::find(stacked_, std::pair(region, accumulator)) != stacked_.end();
}

std::string Placements::str(const Graph& graph) const {
  std::string s;
  for (std::uint32_t v = 0; v < of_.size(); ++v) {
    const Placement& p = of_[v];
    if (p.kind == Placement::Kind::own) continue;
    const std::string_view what = p.kind == Placement::Kind::joined ? "output"
                                  : p.kind == Placement::Kind::row  ? "row of accumulator"
                                                                    : "variable";
    s += fmt::format("%{}: {} {} of {}\n", graph.value_name(Value{v}), what, p.index, graph.describe(p.region));
  }
  return s;
}

}  // namespace frazil
