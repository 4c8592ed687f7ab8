#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/op/flow.h"
#include "lazy/record/traced_function.h"

namespace frazil::lazy {

/// A graph as code for batches: what lies between its control flow are functions that it calls, and branches and loops
/// read values and go on accordingly. So requests that take other branches, or iterate differently, share the runs of
/// what they have in common. Thread-safe.
class GraphWalk {
 public:
  using Users = std::vector<std::vector<std::uint32_t>>;  ///< by value: nodes; ~0: a block's result

  explicit GraphWalk(std::shared_ptr<const Graph> graph);

  const Graph& graph() const { return *graph_; }
  /// Calls the graph with these inputs, one per input of the graph. In an instance of a batch, or anywhere.
  Result<std::vector<Handle>> run(std::span<const Handle> inputs) const;

 private:
  friend class GraphRun;
  /// Nodes between regions, or one region.
  struct Piece {
    NodeId region;  ///< invalid: nodes
    std::vector<NodeId> nodes;
    std::vector<Value> inputs, outputs;
    std::unique_ptr<TracedFunction> function;
  };
  struct Program {
    Flow flow;
    std::vector<std::size_t> target;  ///< of each step that does not fall through
  };

  void cut(BlockId block, const Users& users);
  void end_piece(Piece piece, const Users& users, std::vector<Piece>& pieces);
  Result<std::vector<Handle>> trace(const Piece& piece, std::span<const Handle> arguments) const;

  std::shared_ptr<const Graph> graph_;
  std::vector<std::vector<Piece>> pieces_;       // by block
  std::vector<std::unique_ptr<Program>> flows_;  // by node; null: no region
  std::vector<Handle> constants_;                // by value; none: no constant
};

}  // namespace frazil::lazy
