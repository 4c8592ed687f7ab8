#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/graph.h"
#include "plan/plan.h"

namespace frazil {

/// Sees what a session does, in order, on the session's thread. Costs one test per step when none is set.
/// Node ids are of the plan's graph; Node::stable and Node::name lead back to the user's graph.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Events that follow name nodes of this plan's graph. A run that a guard turns away begins again with another plan.
  virtual void run_begin(const Plan&) {}
  virtual void run_end() {}
  /// Before and after a kernel step.
  virtual void step_begin(const Step&, NodeId) {}
  virtual void step_end(const Step&, NodeId) {}
  /// A branch of an If: which side was taken.
  virtual void branch(NodeId, bool) {}
  /// One iteration of a loop ended.
  virtual void iteration(NodeId) {}
  /// A register group was recomputed: shapes changed.
  virtual void shapes_changed(std::uint32_t) {}
};

}  // namespace frazil
