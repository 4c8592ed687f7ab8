#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/array.h>

namespace frazil::api {

/// The node of an event. The strings are valid during the call.
struct NodeEvent {
  std::string_view name;  ///< name of the ONNX node; nodes expanded from a composite operator share its name
  std::string_view op;    ///< the operator that runs: "Conv", "If", ...
  std::uint32_t id;       ///< the same in every run; "#ID" is a name of the node
};

/// An inner value of a graph that a run has computed. The name and the iterations are valid during the call; the value
/// may be kept.
struct ValueEvent {
  std::string_view name;  ///< a name from Observer::wanted()
  const Array& value;
  /// The iteration numbers of the enclosing loops, from 0 on, outermost first. A value that does not change between
  /// iterations may be reported once, without that loop. Copies of an unrolled loop's body are numbered in the order in
  /// which they ran; their number comes first.
  std::span<const std::int64_t> iterations;
};

/// A receiver of the events of a session, in order, on the session's thread. Functions must not throw and must not call
/// the session, except cancel(). The reference tier sends only events of values. A session with an observer runs step
/// by step: without the machine code of whole plans, and on one thread. Results have the same bits.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void run_begin() {}
  virtual void run_end() {}
  virtual void node_begin(const NodeEvent&) {}
  virtual void node_end(const NodeEvent&) {}
  /// Called when a condition was evaluated: the branch that an If takes, or whether a Loop continues.
  virtual void branch(const NodeEvent&, bool) {}
  /// Called when an iteration of a loop ended.
  virtual void iteration(const NodeEvent&) {}
  /// Called when extents have changed since the previous run or evaluation. Dependent steps are prepared again.
  virtual void shapes_changed() {}

  /// Returns the names of the values to report. They may be inside loops and branches; every name that Patch::tap()
  /// accepts is valid. Session::set_observer calls it, and throws Code::bad_input for a name that the model does not
  /// have.
  virtual std::vector<std::string> wanted() const { return {}; }
  /// Called each time a wanted value has been computed. A value inside a fused kernel is computed separately, with the
  /// same bits. The kernel itself runs unchanged.
  virtual void value(const ValueEvent&) {}
  /// Called before a run for a wanted value that the passes have removed. If it returns true, the run continues without
  /// the value, else it fails with Code::unsupported. Tier "ref" has all values.
  virtual bool without(std::string_view /*name*/, std::string_view /*why*/) { return false; }
};

}  // namespace frazil::api
