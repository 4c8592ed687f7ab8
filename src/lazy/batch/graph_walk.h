#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/op/flow.h"
#include "lazy/record/traced_function.h"

namespace frazil::lazy {

/// A graph prepared for batches. The nodes between its regions become functions that it calls; branches and loops read
/// values and continue accordingly. Requests that take different branches or iterate differently share the runs of
/// their common parts. Thread-safe.
class GraphWalk {
 public:
  using Users = std::vector<std::vector<std::uint32_t>>;  ///< per value: ids of nodes; ~0: a result of a block

  explicit GraphWalk(std::shared_ptr<const Graph> graph);

  const Graph& graph() const { return *graph_; }
  /// Calls the graph with one value per input. May be called in an instance of a batch or outside.
  Result<std::vector<Handle>> run(std::span<const Handle> inputs) const;

 private:
  friend class GraphRun;
  /// The nodes between two regions, or one region.
  struct Piece {
    NodeId region;  ///< invalid if the piece has nodes
    std::vector<NodeId> nodes;
    std::vector<Value> inputs, outputs;
    std::unique_ptr<TracedFunction> function;
  };
  struct Program {
    Flow flow;
    std::vector<std::size_t> target;  ///< of each step: where it jumps to
  };

  void cut(BlockId block, const Users& users);
  void end_piece(Piece piece, const Users& users, std::vector<Piece>& pieces);
  Result<std::vector<Handle>> trace(const Piece& piece, std::span<const Handle> arguments) const;

  std::shared_ptr<const Graph> graph_;
  std::vector<std::vector<Piece>> pieces_;       // by block
  std::vector<std::unique_ptr<Program>> flows_;  // by node; null if it is not a region
  std::vector<Handle> constants_;                // by value; empty if it is not a constant
};

}  // namespace frazil::lazy
