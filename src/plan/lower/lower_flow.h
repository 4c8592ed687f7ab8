#pragma once

#include <vector>

#include "plan/lower/lower_nodes.h"

namespace frazil {

/// The first and last step of a loop, for lifetimes.
struct LoopSpan {
  StepIndex head, end;
};

/// A region whose flow is being lowered.
struct OpenFlow {
  /// A branch or loop that is still open.
  struct Open {
    bool is_loop = false;
    StepIndex step = 0;             ///< branch: the step whose target is not set yet; loop: its head
    std::vector<StepIndex> leaves;  ///< steps that leave the loop, whose targets are set at its end
  };

  NodeId node;
  std::uint32_t number = 0;  ///< index in Plan::regions
  const RegionFlow* region = nullptr;
  std::size_t next = 0;                     ///< the op to lower next
  std::vector<SlotId> variables;            ///< per variable
  std::vector<SlotId> slices;               ///< per slice
  std::vector<std::uint32_t> accumulators;  ///< per accumulator: index in the plan; kNone if `stacked` has a slot
  std::vector<SlotId> stacked;              ///< per accumulator: the result that iterations fill
  std::vector<Open> open;

  bool done() const { return next == region->flow.ops.size(); }
};

/// Finds the slots and types of cells while a flow is lowered; see FlowLowering.
class Cells {
 public:
  explicit Cells(PlanWriter& writer) : w_(writer) {}
  /// Returns the cell's slot. Counters and truths get a new one.
  SlotId slot(const OpenFlow& flow, const Cell& cell);
  const Type& type(const OpenFlow& flow, const Cell& cell) const;

 private:
  PlanWriter& w_;
};

/// Lowers the variables of loops, which hold the carried values.
class LoopVariables {
 public:
  LoopVariables(PlanWriter& writer, NodeLowering& nodes, const Appends& appends, const Placements& placements,
                Cells& cells)
      : w_(writer), nodes_(nodes), appends_(appends), placements_(placements), cells_(cells) {}
  /// Sets variables of a loop. The first call copies their initial values; the later one, at the back edge, ends an
  /// iteration.
  void set(OpenFlow& flow, const FlowOp& op);

 private:
  bool is_variable(const OpenFlow& flow, SlotId slot) const;
  SlotId set_aside(SlotId slot, NodeId node);
  SlotId next_source(const OpenFlow& flow, std::uint32_t variable, const Cell& cell, SlotId from);
  void assign_extents(const OpenFlow& flow, const FlowOp& op, const std::vector<SlotId>& sources);
  SlotId first_variable(Value param, SlotId source, NodeId node);
  void update(SlotId variable, SlotId source, NodeId node);

  PlanWriter& w_;
  NodeLowering& nodes_;
  const Appends& appends_;
  const Placements& placements_;
  Cells& cells_;
};

/// Lowers results that the iterations of a loop make part by part.
class LoopResults {
 public:
  LoopResults(PlanWriter& writer, NodeLowering& nodes, const Placements& placements, Cells& cells)
      : w_(writer), nodes_(nodes), placements_(placements), cells_(cells) {}
  void open(OpenFlow& flow);
  /// Reserves capacity, at the beginning of an iteration, for parts that are written directly to their place.
  void reserve(const OpenFlow& flow);
  void add_part(const OpenFlow& flow, const FlowOp& op);
  /// Defines the node's output `out` from accumulator `a`.
  void define_output(const OpenFlow& flow, Value out, std::uint32_t a);
  /// Returns the number of results that need no copy of each part, or no copy of the whole at the end.
  std::size_t in_place() const { return in_place_; }

 private:
  void open_stacked(OpenFlow& flow, std::uint32_t a);
  void open_accumulator(OpenFlow& flow, std::uint32_t a);
  const FlowOp& gather_of(const OpenFlow& flow, std::uint32_t a) const;
  bool is_row(const OpenFlow& flow, const FlowOp& gather) const;
  void stack(Value out, const Accumulator& acc, AccumulatorId id, const FlowOp& gather, NodeId node);

  PlanWriter& w_;
  NodeLowering& nodes_;
  const Placements& placements_;
  Cells& cells_;
  std::size_t in_place_ = 0;
};

/// Lowers the flow of a region to jumps. The caller lowers the blocks that the flow enters.
class FlowLowering {
 public:
  FlowLowering(PlanWriter& writer, NodeLowering& nodes, const RegionFlows& flows, const Appends& appends,
               const Placements& placements);

  OpenFlow begin(NodeId id);
  /// Lowers the next op. If the op enters a block, returns the block: the caller must lower it before the op that
  /// follows.
  std::optional<BlockId> step(OpenFlow& flow);
  void end(OpenFlow& flow);
  /// Binds the capacities of a value that Concats extend. Call it before anything reads the value.
  void open_append(Value from);
  const std::vector<LoopSpan>& loops() const { return loops_; }
  std::size_t results_in_place() const { return results_.in_place(); }

 private:
  void open_joined(const OpenFlow& flow);
  SlotId condition(const OpenFlow& flow, const Cell& cell);
  void leave(OpenFlow& flow, StepIndex step) { flow.open.back().leaves.push_back(step); }
  void count(const OpenFlow& flow, const FlowOp& op);
  void set_target(StepIndex step, StepIndex target);
  void end_loop(OpenFlow& flow);
  void enter(const OpenFlow& flow, const FlowOp& op);
  void leave_block(const OpenFlow& flow);
  PlannedRegion& planned(const OpenFlow& flow) { return w_.plan.regions[flow.number]; }
  void slice(OpenFlow& flow, const FlowOp& op);
  void define_output(const OpenFlow& flow, const FlowOp& op);
  void alias_output(const OpenFlow& flow, Value out, const FlowOp& op, SlotId from);

  PlanWriter& w_;
  NodeLowering& nodes_;
  const RegionFlows& flows_;
  const Appends& appends_;
  const Placements& placements_;
  Cells cells_;
  LoopVariables variables_;
  LoopResults results_;
  std::vector<LoopSpan> loops_;
};

}  // namespace frazil
