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

/// A value of a model as all specialisations know it.
struct WatchedValue {
  std::string name;            ///< the value's; empty: it has none, and is known by its node
  std::uint32_t node = kNone;  ///< by its stable id
  std::uint32_t output = 0;
  bool operator==(const WatchedValue&) const = default;
};
/// Identifies a value by its own name, if that is unique, or else by its node. Empty for a parameter without a name.
WatchedValue watched_value(const Names& names, const Graph& graph, Value v);
/// Returns the value that Names::value() finds. Code::unsupported for a parameter without a name.
Result<WatchedValue> find_value(const Names& names, const Graph& graph, std::string_view name);
Result<WatchedValue> find_value(const Graph& graph, std::string_view name);

/// Sees what a session does, in order, on the session's thread. Costs one test per step when none is set. The reference
/// executor tells of values only.
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

  /// The values that `value` gets, asked before each run. What is spanned stays as it is while the run lasts.
  virtual std::span<const WatchedValue> watched() const { return {}; }
  /// Value `index` of watched(), as soon as it is there; each time a loop makes it. `iterations` are the numbers of the
  /// loops around it, from 0 on, outermost first: of those that run as loops. What no loop needs to make again is told
  /// without that loop; copies that unrolling made are numbered in the order in which they stand, which comes first.
  /// A value that fused kernels keep to themselves has the bits with which they compute it. The Datum may be kept.
  virtual void value(std::size_t /*index*/, const Datum&, std::span<const std::int64_t> /*iterations*/) {}
  /// Nothing in the plan that is about to run makes value `index`, although the graph has it. False ends the run with
  /// Code::unsupported.
  virtual bool without(std::size_t /*index*/, std::string_view /*why*/) { return false; }
};

}  // namespace frazil::exec
