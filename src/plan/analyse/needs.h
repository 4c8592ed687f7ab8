#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/op/space.h"

namespace frazil {

/// Returns true if the planner turns the map into views and copies. For other maps, a kernel reads all inputs of the
/// node.
bool is_direct(const ViewMap& map);

/// The values that must exist as data when a graph runs, and the nodes that must run. Shape arithmetic whose results
/// are known as Dims needs neither.
class Needs {
 public:
  static Result<Needs> of(const Graph& graph);
  bool value(Value v) const { return values_[v.id]; }
  bool node(NodeId n) const { return nodes_[n.id]; }
  /// Returns true for a node that results depend on, even if only through known shape arithmetic. Its constraints must
  /// hold, or the run fails.
  bool reached(NodeId n) const { return reached_[n.id]; }
  /// Returns the maps of a needed View node.
  const std::vector<ViewMap>& views(NodeId n) const { return *graph_.node(n).views; }
  /// Returns the symbols that are read from elements of v, as pairs (symbol, element).
  const std::vector<std::pair<SymbolId, std::uint32_t>>& bound_by(Value v) const;
  /// Returns true if v's content is known without running its node. Returns false if an element depends on a number
  /// read from data: such a symbol is clipped to the range of a Dim, which is smaller than int64.
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
