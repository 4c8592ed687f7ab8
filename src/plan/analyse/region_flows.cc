#include "plan/analyse/region_flows.h"

#include <algorithm>

#include "ir/op/op.h"

namespace frazil {
namespace {

/// Returns the symbol of the counter that counts iterations from 0.
std::optional<SymbolId> iteration_counter(const RegionFlow& region) {
  const auto& ops = region.flow.ops;
  const auto step = std::ranges::find(ops, FlowOp::Kind::step, &FlowOp::kind);
  if (step == ops.end()) return std::nullopt;
  const bool from_zero = std::ranges::any_of(ops, [&](const FlowOp& op) {
    return op.kind == FlowOp::Kind::count && op.index == step->index && op.number == 0;
  });
  return from_zero ? std::optional(region.counters[step->index]) : std::nullopt;
}

RegionFlow flow_of(const Graph& graph, Scope& scope, const Node& node, const Region& form) {
  RegionFlow region{.flow = {}, .counters = {}, .variable_params = {}, .output_counts = {}};
  form.lower(node, graph, region.flow);
  for (std::uint32_t c = 0; c < region.flow.counters; ++c) {
    region.counters.push_back(*scope.as_symbol(scope.unbacked({Dim::kMin, Dim::kMax})));
  }
  region.variable_params.resize(region.flow.variables);
  region.output_counts.resize(node.out.size());
  for (const FlowOp& op : region.flow.ops) {
    if (op.kind == FlowOp::Kind::output) ++region.output_counts[op.index];
    if (op.kind != FlowOp::Kind::enter) continue;
    for (std::size_t k = 0; k < op.cells.size(); ++k) {
      if (op.cells[k].kind != Cell::Kind::variable) continue;
      region.variable_params[op.cells[k].index] = graph.block(op.block).params[k];
    }
  }
  region.iteration = iteration_counter(region);
  return region;
}

}  // namespace

std::optional<std::uint32_t> RegionFlow::output_of(std::uint32_t a) const {
  for (const FlowOp& op : flow.ops) {
    if (op.kind == FlowOp::Kind::output && op.a.kind == Cell::Kind::gathered && op.a.index == a) return op.index;
  }
  return std::nullopt;
}

RegionFlows::RegionFlows(const Graph& graph, Scope& scope, const Needs& needs) {
  for (const NodeId n : graph.nodes()) {
    const Node& node = graph.node(n);
    const auto* form = std::get_if<Region>(&node.op->form);
    if (form == nullptr || !needs.node(n)) continue;
    flows_.emplace(n.id, flow_of(graph, scope, node, *form));
    regions_.push_back(n);
  }
}

bool is_inside(const Graph& graph, BlockId block, BlockId outer) {
  while (block != outer && block != Graph::kMain) block = graph.block(block).parent;
  return block == outer;
}

bool is_outside(const Graph& graph, NodeId region, Dim d) {
  if (d.is_const()) return true;
  return std::ranges::all_of(graph.scope().symbols_of(d), [&](SymbolId s) {
    return std::ranges::none_of(graph.node(region).blocks,
                                [&](BlockId b) { return is_inside(graph, graph.symbol_block(s), b); });
  });
}

bool is_own_result(const Graph& graph, const Cell& cell) {
  if (cell.kind != Cell::Kind::result) return false;
  const Value v = graph.block(cell.block).results[cell.index];
  return graph.producer(v) && graph.block_of(v) == cell.block;
}

}  // namespace frazil
