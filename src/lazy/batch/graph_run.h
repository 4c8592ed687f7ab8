#pragma once

#include <span>
#include <vector>

#include "lazy/batch/graph_walk.h"
#include "ref/moves.h"

namespace frazil::lazy {

/// One call of a graph.
class GraphRun {
 public:
  explicit GraphRun(const GraphWalk& walk);
  Result<std::vector<Handle>> run(std::span<const Handle> inputs);

 private:
  /// The state of a running region.
  struct Frame {
    NodeId node;
    const Flow* flow = nullptr;
    std::vector<std::int64_t> counters;
    std::vector<Handle> variables, slices, outputs;
    std::vector<std::vector<Handle>> accumulators;
  };

  Status run_block(BlockId block);
  Status call(const GraphWalk::Piece& piece);
  Status run_region(NodeId id);
  Status step(Frame& frame, const FlowOp& op, std::size_t target, std::size_t& pc);
  Status set(Frame& frame, const FlowOp& op);
  Status enter(Frame& frame, const FlowOp& op);
  Result<Handle> read(Frame& frame, const Cell& cell);
  Result<Handle> stacked(Frame& frame, std::uint32_t accumulator);
  Result<bool> read_condition(Frame& frame, const Cell& cell);
  Result<std::int64_t> integer(Frame& frame, const Cell& cell);
  Result<std::int64_t> extent(Dim dim);

  void define(Value value, Handle handle) { values_[value.id] = std::move(handle); }
  const Handle& value_of(Value value) const {
    const Handle& constant = walk_.constants_[value.id];
    return constant ? constant : values_[value.id];
  }

  const GraphWalk& walk_;
  const Graph& graph_;
  std::vector<Handle> values_;
};

}  // namespace frazil::lazy
