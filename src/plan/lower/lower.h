#pragma once

#include <chrono>
#include <vector>

#include "base/value/pass_set.h"
#include "pass/engine/passes.h"
#include "plan/analyse/needs.h"
#include "plan/lower/fuse.h"
#include "plan/lower/lower_flow.h"
#include "plan/model/plan.h"

namespace frazil {

/// Writes the steps of a plan: analyses first, then node by node. Memory (pools, in-place reuse) is planned later, in
/// plan/memory.
class Lowering {
 public:
  Lowering(const Graph& graph, Scope& scope, const Needs& needs, const Fusion& fusion, PassSet passes, Plan& plan);
  Status run();
  const std::vector<LoopSpan>& loops() const { return flow_.loops(); }
  /// Appends a record for each pass that is part of lowering.
  void report(std::vector<pass::PassRun>& ran) const;
  /// Writes the group of each symbol's register into `of`.
  void symbol_groups(std::vector<std::uint32_t>& of) const;

 private:
  using Clock = std::chrono::steady_clock;
  /// A block whose nodes are being lowered, or the innermost open flow if `block` is none.
  struct Frame {
    BlockId block{};
    std::size_t next = 0;
  };

  Status advance();
  void define_inputs();
  void define_input(std::size_t i);
  Status define_outputs();
  bool fills_storage(SlotId slot);

  const PassSet passes_;
  const Graph& graph_;
  Plan& plan_;
  const RegionFlows flows_;
  const Clock::time_point begin_ = Clock::now();
  const Appends appends_;
  const Clock::time_point found_appends_ = Clock::now();
  const Placements placements_;
  const Clock::time_point placed_ = Clock::now();
  const Picks picks_;
  PlanWriter w_;
  NodeLowering nodes_;
  FlowLowering flow_;
  std::vector<Frame> frames_;
  std::vector<OpenFlow> open_;  // innermost last
};

/// Assigns pools, lifetimes and in-place reuse to the storages of a lowered plan. Moves results to the caller's tensors
/// where possible.
void plan_memory(Plan& plan, const std::vector<LoopSpan>& loops);

}  // namespace frazil
