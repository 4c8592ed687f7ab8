#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "debug/sites.h"
#include "plan/model/plan.h"
#include "tool/report.h"

namespace frazil::tool {

/// What `frazil view` serves of a graph, for its page:
///
///   name, inputs [value], outputs [{name, value}]
///   values      {id: {name, type, from?, constant?}}   from: the node, or the value itself for a parameter
///   nodes       [{id, name, op, ports, in [value or null], out [value], attributes, inside?, bodies [container]}]
///   containers  [{id, inside?, title, owner?, parameters [value], results [value]}]
///               a body, of the node `owner`, or an inlined function; `inside` names the container around
///
/// Values are numbers as text, nodes "n3", containers "b4" and "f5".
Json graph_json(const debug::Sites& sites);

/// Finds the nodes of a user's graph that nodes of a plan's graph came from.
class Origins {
 public:
  explicit Origins(const Graph& graph);
  /// By Node::stable, else by the name that what a composite expands to inherits; nullopt: none, or several.
  std::optional<NodeId> of(const Node& node) const;

 private:
  std::unordered_map<std::uint32_t, NodeId> by_stable_;
  std::unordered_map<std::string, std::optional<NodeId>> by_name_;
};

/// What became of the nodes: {steps [{kernel, ops, nodes [node]}], apart [{producer, node, why}]}. `apart` tells why
/// two nodes do not share a step.
Json plan_json(const Plan& plan, const Origins& origins);

/// "n3".
std::string node_id(NodeId node);

}  // namespace frazil::tool
