#pragma once

#include <cstdint>
#include <span>

#include "ir/graph.h"
#include "plan/plan.h"

namespace frazil::exec {

/// Sees what a session does, in order, on the session's thread. Costs one test per step when none is set.
/// Node ids are of the plan's graph; Node::stable and Node::name lead back to the user's graph.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Events that follow name steps and nodes of this plan, until the next one: a run whose guard misses goes on with
  /// another plan, in the middle. The registers are the session's: extents as they are at each event.
  virtual void run_begin(const Plan&, std::span<const std::int64_t> /*registers*/) {}
  virtual void run_end() {}
  /// Before and after a kernel step.
  virtual void step_begin(const Step&, NodeId) {}
  virtual void step_end(const Step&, NodeId) {}
  /// A branch of an If: which side was taken. The condition of a Loop: whether it goes on.
  virtual void branch(const Step&, NodeId, bool) {}
  /// One iteration of a loop ended.
  virtual void iteration(const Step&, NodeId) {}
  /// A loop ended because its count was reached.
  virtual void count_reached(const Step&, NodeId) {}
  /// A register group was recomputed: shapes changed.
  virtual void shapes_changed(std::uint32_t) {}
};

}  // namespace frazil::exec
