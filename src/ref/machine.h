#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"
#include "ref/environment.h"
#include "ref/ref.h"
#include "ref/region_run.h"
#include "tensor/datum.h"

namespace frazil::ref {

/// An interpreter of a graph. It runs nodes in order. Regions run on an explicit stack, so that the native stack does
/// not limit nesting.
class Machine {
 public:
  /// `listener` may be null.
  Machine(const Graph& graph, ExecutionLimits& execution_limits, ValueListener* listener = nullptr);

  /// Runs the graph and returns the main block's results. `params` are the main block's checked parameters.
  Result<std::vector<Datum>> run(std::span<const Datum> params);
  /// An assumption that did not hold, so that a run failed: its key and its actual value.
  struct Missed {
    AssumptionKey key;
    std::int64_t value = 0;
  };
  const std::optional<Missed>& missed() const { return missed_; }

 private:
  /// A block and its next node, or a region.
  struct Frame {
    BlockId block;
    std::size_t next;
    std::unique_ptr<RegionRun> region;
  };

  Status define(Value v, Datum datum, std::string_view who);
  void notify(Value v) const;

  Status step_block(Frame& frame);
  Status run_single(NodeId id);
  Status check_assumptions(NodeId id);
  Result<std::optional<Datum>> nothing_viewed(NodeId id);

  const RegionProgram& program_of(NodeId id);
  Status begin_region(NodeId id);
  Status step_region(RegionRun& run);
  Status step_flow(RegionRun& run, const FlowOp& op);
  Status end_region(RegionRun& run);
  Status enter(const RegionRun& run, const FlowOp& op);
  Status expect(const RegionRun& run, const FlowOp& op);

  const Graph& graph_;
  ExecutionLimits& execution_limits_;
  ValueListener* const listener_;
  Environment environment_;
  std::unordered_map<std::uint32_t, std::unique_ptr<RegionProgram>> programs_;  // by region node
  std::vector<Frame> frames_;
  std::optional<Missed> missed_;
};

}  // namespace frazil::ref
