#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/op/space.h"

namespace frazil {

/// True when the planner turns the map into views and copies; else a kernel reads all of the node's inputs.
bool is_direct(const ViewMap& map);

/// Which values must exist as data when a graph runs, and which nodes must run. Shape arithmetic whose results are
/// known as Dims needs neither.
class Needs {
 public:
  static Result<Needs> of(const Graph& graph);
  bool value(Value v) const { return values_[v.id]; }
  bool node(NodeId n) const { return nodes_[n.id]; }
  /// Nodes that results depend on, if only through known shape arithmetic: their constraints hold or the run fails.
  bool reached(NodeId n) const { return reached_[n.id]; }
  /// Maps of a needed View node.
  const std::vector<ViewMap>& views(NodeId n) const { return *graph_.node(n).views; }
  /// Symbols read from elements of v: (symbol, element).
  const std::vector<std::pair<SymbolId, std::uint32_t>>& bound_by(Value v) const;
  /// True when v's content is known without running its node. Not where a number of it is read from data: as an extent
  /// that is held within Dim's range, which int64 exceeds.
  static bool is_known(const Graph& graph, Value v);

 private:
  explicit Needs(const Graph& graph);
  Status run();
  Status follow();
  void reach();
  void reach(const std::vector<Value>& values, std::vector<Value>& work);
  void need(Value v);
  void need(Dim d);
  Status need_node(NodeId n);
  void need_form(NodeId n);
  void need_assumptions(std::span<const BlockId> blocks, NodeId owner);

  const Graph& graph_;
  std::vector<bool> values_, nodes_, symbols_, reached_, seen_;
  std::vector<Value> work_;
  std::unordered_map<std::uint32_t, std::vector<std::pair<SymbolId, std::uint32_t>>> bound_;
};

}  // namespace frazil
