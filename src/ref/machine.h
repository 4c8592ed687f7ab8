#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/op/flow.h"
#include "ref/node.h"
#include "ref/ref.h"
#include "ref/symbols.h"
#include "tensor/datum.h"

namespace frazil::ref {

/// An interpreter of a graph. It runs nodes in order. Regions run on an explicit stack, so that the native stack does
/// not limit nesting.
class Machine {
 public:
  /// `listener` may be null.
  Machine(const Graph& graph, ExecutionLimits& execution_limits, ValueListener* listener = nullptr);
  ~Machine();

  /// Runs the graph and returns the main block's results. `params` are the main block's checked parameters.
  Result<std::vector<Datum>> run(std::span<const Datum> params);
  /// An assumption that did not hold, so that a run failed: its key and its actual value.
  struct Missed {
    AssumptionKey key;
    std::int64_t value = 0;
  };
  const std::optional<Missed>& missed() const { return missed_; }

 private:
  struct Program;
  struct RegionRun;
  struct Frame;

  void find_last_uses();
  Datum value(Value v) const;
  Status define(Value v, Datum datum, std::string_view who);
  void tell(Value v) const;
  void release(NodeId id);

  Status step_block(Frame& frame);
  Status run_single(NodeId id);
  Status check_assumptions(NodeId id);
  Result<std::optional<Datum>> nothing_viewed(NodeId id);

  const Program& program_of(NodeId id);
  Status begin_region(NodeId id);
  Status step_region(RegionRun& run);
  Status step_flow(RegionRun& run, const FlowOp& op);
  Status end_region(RegionRun& run);
  Status check_constraints(NodeId id);
  Status enter(RegionRun& run, const FlowOp& op);
  Status gather(RegionRun& run, const FlowOp& op);
  Result<Datum> read(const RegionRun& run, const Cell& cell);
  Result<Tensor> gathered(const RegionRun& run, std::uint32_t accumulator);
  Result<Tensor> nothing_gathered(const RegionRun& run, std::uint32_t accumulator);
  Result<bool> truth(const RegionRun& run, const Cell& cell);
  Result<std::int64_t> integer(const RegionRun& run, const Cell& cell);
  bool lives_at(Dim d, BlockId block) const;

  const Graph& graph_;
  ExecutionLimits& execution_limits_;
  ValueListener* const listener_;
  SymbolTable symbols_;
  std::vector<Datum> env_;                                                // per value
  std::vector<std::vector<Value>> dead_after_;                            // per node: values with no later use
  std::unordered_map<std::uint32_t, std::unique_ptr<Program>> programs_;  // by region node
  std::vector<Frame> frames_;
  std::optional<Missed> missed_;
};

}  // namespace frazil::ref
