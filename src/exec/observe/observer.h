#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/value/error.h"
#include "ir/graph/graph.h"
#include "ir/graph/names.h"
#include "plan/model/plan.h"
#include "tensor/datum.h"

namespace frazil::exec {

/// A value of a model, identified in the same way for all specialisations.
struct WatchedValue {
  std::string name;            ///< empty for a value without a unique name, which `node` and `output` identify
  std::uint32_t node = kNone;  ///< stable id
  std::uint32_t output = 0;
  bool operator==(const WatchedValue&) const = default;
};
/// Identifies a value by its own name, if that is unique, or else by its node. Empty for a parameter without a name.
WatchedValue watched_value(const Names& names, const Graph& graph, Value v);
/// Returns the value that Names::value() finds. Code::unsupported for a parameter without a name.
Result<WatchedValue> find_value(const Names& names, const Graph& graph, std::string_view name);
Result<WatchedValue> find_value(const Graph& graph, std::string_view name);

/// An observer of a session's events, called in order on the session's thread. Without an observer the cost is one test
/// per step. The reference executor reports values only. Node ids are of the plan's graph; Node::stable and Node::name
/// lead to the user's graph.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Called when a run begins, and when it continues with another plan after a guard missed. Later events name steps
  /// and nodes of this plan. The registers are the session's: at each event they hold the current extents.
  virtual void run_begin(const Plan&, std::span<const std::int64_t> /*registers*/) {}
  virtual void run_end() {}
  /// Called before and after a launch step.
  virtual void step_begin(const Step&, NodeId) {}
  virtual void step_end(const Step&, NodeId) {}
  /// Called at the branch of an If, with the side taken, and at the condition of a Loop, with whether it continues.
  virtual void branch(const Step&, NodeId, bool) {}
  /// Called at the end of each loop iteration.
  virtual void iteration(const Step&, NodeId) {}
  /// Called when a loop ends because it has reached its count.
  virtual void count_reached(const Step&, NodeId) {}
  /// Called when shapes have changed and a register group was recomputed.
  virtual void shapes_changed(std::uint32_t) {}

  /// Returns the values that value() receives; called before each run. The span must stay valid and unchanged during
  /// the run.
  virtual std::span<const WatchedValue> watched() const { return {}; }
  /// Receives value `index` of watched() as soon as it is computed, once for each loop iteration that computes it.
  /// `iterations` are the iteration numbers of the enclosing loops that run as loops, from 0, outermost first. A value
  /// that does not change in a loop is reported without that loop's number. If unrolling made several copies, the
  /// copy's number in graph order comes first. A value inside a fused kernel has the bits with which the kernel
  /// computes. The Datum may be kept.
  virtual void value(std::size_t /*index*/, const Datum&, std::span<const std::int64_t> /*iterations*/) {}
  /// Called if nothing in the plan that is about to run makes value `index`, although the graph has it. If it returns
  /// false, the run ends with Code::unsupported.
  virtual bool without(std::size_t /*index*/, std::string_view /*why*/) { return false; }
};

}  // namespace frazil::exec
