#pragma once

#include <vector>

#include "plan/lower/lower_nodes.h"

namespace frazil {

/// One loop's steps, for lifetimes.
struct LoopSpan {
  StepIndex head, end;
};

/// A region whose flow is being lowered.
struct OpenFlow {
  /// A branch or loop that is still open.
  struct Open {
    bool is_loop = false;
    StepIndex step = 0;             ///< branch: the step to patch; loop: its head
    std::vector<StepIndex> leaves;  ///< steps to point behind the loop
  };

  NodeId node;
  std::uint32_t number = 0;  ///< of Plan::regions
  const RegionFlow* region = nullptr;
  std::size_t next = 0;                     ///< the op to lower next
  std::vector<SlotId> variables;            ///< per variable
  std::vector<SlotId> slices;               ///< per slice
  std::vector<std::uint32_t> accumulators;  ///< per accumulator: of the plan, kNone where `stacked` has a slot
  std::vector<SlotId> stacked;              ///< per accumulator: the result that iterations fill
  std::vector<Open> open;

  bool done() const { return next == region->flow.ops.size(); }
};

/// The value of a cell while a flow runs; see FlowLowering.
class Cells {
 public:
  explicit Cells(PlanWriter& writer) : w_(writer) {}
  /// Its slot; counters and truths get one.
  SlotId slot(const OpenFlow& flow, const Cell& cell);
  const Type& type(const OpenFlow& flow, const Cell& cell) const;

 private:
  PlanWriter& w_;
};

/// The variables of loops: what carried values are.
class LoopVariables {
 public:
  LoopVariables(PlanWriter& writer, NodeLowering& nodes, const Appends& appends, const Placements& placements,
                Cells& cells)
      : w_(writer), nodes_(nodes), appends_(appends), placements_(placements), cells_(cells) {}
  /// The first set of a loop's variables copies the initial values; the later one, at the back edge, ends an iteration.
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

/// Results that the iterations of a loop give part by part.
class LoopResults {
 public:
  LoopResults(PlanWriter& writer, NodeLowering& nodes, const Placements& placements, Cells& cells)
      : w_(writer), nodes_(nodes), placements_(placements), cells_(cells) {}
  void open(OpenFlow& flow);
  /// At the beginning of an iteration: capacity for the parts that are written where they stay.
  void reserve(const OpenFlow& flow);
  void add_part(const OpenFlow& flow, const FlowOp& op);
  /// The node's output `out` from accumulator `a`.
  void give(const OpenFlow& flow, Value out, std::uint32_t a);
  /// Results that need no copy of each part, or no copy of the whole at the end.
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

/// Turns the flow of a region into jumps. The caller lowers the blocks that it enters.
class FlowLowering {
 public:
  FlowLowering(PlanWriter& writer, NodeLowering& nodes, const RegionFlows& flows, const Appends& appends,
               const Placements& placements);

  OpenFlow begin(NodeId id);
  /// Lowers the next op; the block to lower before the one behind it, where the op enters one.
  std::optional<BlockId> step(OpenFlow& flow);
  void end(OpenFlow& flow);
  /// A value that Concats make longer gets its symbols before anything reads it.
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
  void give(const OpenFlow& flow, const FlowOp& op);
  void give_once(const OpenFlow& flow, Value out, const FlowOp& op, SlotId from);

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
