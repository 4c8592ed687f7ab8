#include "server/pipeline/route_of.h"

#include "server/pipeline/formula.h"

namespace frazil::server {
namespace {

using RoutePorts = std::vector<govern::RouteNode::Port>;

govern::RouteFormula route_formula(const Formula* formula) {
  govern::RouteFormula made;
  if (formula == nullptr) return made;
  for (const Slot& slot : formula->reads()) made.values.push_back(slot.id);
  made.parameters = formula->parameters();
  return made;
}

RoutePorts route_ports(const NodeView::Named& named) {
  RoutePorts ports;
  for (const auto& [name, slot] : named) ports.push_back({name, slot.id});
  return ports;
}

RoutePorts route_ports(const std::vector<api::Port>& names, const std::vector<Slot>& slots) {
  RoutePorts ports;
  for (std::size_t i = 0; i < slots.size(); ++i) ports.push_back({names[i].name, slots[i].id});
  return ports;
}

std::vector<std::size_t> ids_of(const std::vector<Slot>& slots) {
  std::vector<std::size_t> ids;
  for (const Slot& slot : slots) ids.push_back(slot.id);
  return ids;
}

/// Fills what the kinds of nodes have in different ways: values before and after the node.
void add_values(govern::RouteNode& made, const Node& node, const NodeView& view) {
  made.inputs = route_ports(view.inputs);
  made.outputs = route_ports(view.outputs);
  if (view.kind != "loop") {
    if (!view.branches.empty()) {
      for (const Slot& slot : node.writes()) made.outputs.push_back({"", slot.id});
    }
    return;
  }
  for (const NodeView::Carried& one : view.carried) {
    made.carried.push_back({one.from.id, one.value.id, one.next.value_or(one.value).id});
  }
  made.count.push_back(node.writes().back().id);
  made.emitted = route_ports(view.emitted);
  made.repeats_always = view.decision == nullptr;
}

std::vector<govern::RouteNode> route_nodes(const Block& block) {
  std::vector<govern::RouteNode> nodes;
  for (const NodePtr& node : block.nodes) {
    const NodeView view = node->view();
    govern::RouteNode made{.name = node->name(),
                           .kind = std::string(view.kind),
                           .model = view.target == nullptr ? "" : view.target->name(),
                           .version = view.target == nullptr ? "" : view.target->version(),
                           .endpoint = view.endpoint,
                           .most = view.most,
                           .decision = route_formula(view.decision),
                           .draws = view.draws,
                           .least = view.least,
                           .emits = view.emits};
    add_values(made, *node, view);
    for (const auto& branch : view.branches) {
      made.branches.push_back({.rule = branch.rule,
                               .nodes = route_nodes(*branch.block),
                               .name = branch.block->name,
                               .when = route_formula(branch.when),
                               .results = ids_of(branch.block->results),
                               .guarded = branch.rollback != nullptr});
    }
    nodes.push_back(std::move(made));
  }
  return nodes;
}

}  // namespace

govern::Route route_of(const Pipeline& pipeline) {
  return {pipeline.name(), pipeline.digest(), route_nodes(pipeline.block()),
          route_ports(pipeline.inputs(), pipeline.input_slots()),
          route_ports(pipeline.outputs(), pipeline.block().results)};
}

}  // namespace frazil::server
