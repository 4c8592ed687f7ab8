#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/op/flow.h"
#include "ref/environment.h"
#include "ref/moves.h"

namespace frazil::ref {

/// A region's flow with the jump target of each branch, `otherwise`, `leave_*` and `again`.
struct RegionProgram {
  RegionProgram(const Graph& graph, NodeId region);
  Flow flow;
  std::vector<std::size_t> target;
  bool loops = false;
};

/// A running region node: the position in its flow, and what the flow works on.
class RegionRun {
 public:
  /// `environment` and `program` must outlive this object.
  RegionRun(const Graph& graph, Environment& environment, NodeId node, const RegionProgram& program);

  NodeId node() const { return node_; }
  bool loops() const { return program_.loops; }
  /// Returns the number of the current iteration, from 0.
  std::int64_t iteration() const { return iteration_; }
  /// Returns the next operation of the flow; null at its end.
  const FlowOp* next() const { return pc_ == program_.flow.ops.size() ? nullptr : &program_.flow.ops[pc_]; }
  /// Runs the next operation. Of `enter` and `expect` it only moves past them: these are the caller's.
  Status step();
  Result<Datum> read(const Cell& cell) const;
  Result<std::vector<Datum>> read(const std::vector<Cell>& cells) const;
  /// Reads a condition.
  Result<bool> read_condition(const Cell& cell) const;
  /// Returns the results of the node. Precondition: next() is null.
  std::vector<Datum> take_outputs() { return std::move(outputs_); }

 private:
  Status set(const FlowOp& op);
  Status slice(const FlowOp& op);
  Status gather(const FlowOp& op);
  Status count_dim(const FlowOp& op);
  Result<std::int64_t> integer(const Cell& cell) const;
  Result<Tensor> gathered(std::uint32_t accumulator) const;
  Result<Tensor> nothing_gathered(std::uint32_t accumulator) const;
  bool lives_at(Dim d, BlockId block) const;

  const Graph& graph_;
  Environment& environment_;
  const NodeId node_;
  const RegionProgram& program_;
  std::size_t pc_ = 0;
  std::int64_t iteration_ = 0;
  std::vector<std::int64_t> counters_;
  std::vector<Datum> variables_, slices_, outputs_;
  std::vector<Gathered> accumulators_;
};

}  // namespace frazil::ref
