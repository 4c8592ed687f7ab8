#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "debug/sites.h"
#include "plan/model/plan.h"
#include "tool/report.h"

namespace frazil::tool {

/// Returns the description of a graph for the page of `frazil view`:
///
///   name, inputs [value], outputs [{name, value}]
///   values      {id: {name, type, from?, constant?}}   from: the node, or the value itself for a parameter
///   nodes       [{id, name, op, ports, in [value or null], out [value], attributes, inside?, bodies [container]}]
///   containers  [{id, inside?, title, owner?, parameters [value], results [value]}]
///               a body of the node `owner`, or an inlined function; `inside` is the enclosing container
///
/// Values have numbers as text, nodes have ids such as "n3", containers "b4" and "f5".
Json graph_json(const debug::Sites& sites);

/// Maps nodes of a plan's graph to the nodes of the user's graph that they came from.
class Origins {
 public:
  explicit Origins(const Graph& graph);
  /// Matches by Node::stable, else by the name, which the parts of a composite inherit. Returns nullopt for no match or
  /// several.
  std::optional<NodeId> of(const Node& node) const;

 private:
  std::unordered_map<std::uint32_t, NodeId> by_stable_;
  std::unordered_map<std::string, std::optional<NodeId>> by_name_;
};

/// Describes the steps of the nodes: {steps [{kernel, ops, nodes [node]}], apart [{producer, node, why}]}. `apart`
/// lists the reasons why two nodes do not share a step.
Json plan_json(const Plan& plan, const Origins& origins);

/// Returns an id such as "n3".
std::string node_id(NodeId node);

}  // namespace frazil::tool
