#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/array.h>

namespace frazil::api {

class Model;

/// Identifies a node in an event. The strings are valid during the call.
struct NodeEvent {
  std::string_view name;  ///< name of the ONNX node; nodes that a composite operator expands to have its name
  std::string_view op;    ///< the operator that runs: "Conv", "If", ...
  std::uint32_t id;       ///< the same for the same node in every run; "#ID" is a name of the node
};

/// An inner value of a graph, as a run computed it. Name and iterations are valid during the call; the value may be
/// kept.
struct ValueEvent {
  std::string_view name;  ///< as Observer::wanted() gave it
  const Array& value;
  /// Of a value inside loops: their iteration numbers, from 0 on, outermost first. A value that does not change from
  /// one iteration to the next may be reported once, without that loop. Copies of an unrolled loop's body are numbered
  /// in the order in which they ran; their number comes first.
  std::span<const std::int64_t> iterations;
};

/// Receives the events of a session, in order, on the session's thread. Functions must not throw and must not call the
/// session, except cancel(). The reference tier sends events of values only. A session with an observer runs step by
/// step: without the machine code of whole plans, and on one thread. Results have the same bits.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void run_begin() {}
  virtual void run_end() {}
  virtual void node_begin(const NodeEvent&) {}
  virtual void node_end(const NodeEvent&) {}
  /// A condition was evaluated: the branch that an If takes, or whether a Loop continues.
  virtual void branch(const NodeEvent&, bool) {}
  /// An iteration of a loop ended.
  virtual void iteration(const NodeEvent&) {}
  /// Extents changed since the previous run or evaluation; dependent steps are prepared again.
  virtual void shapes_changed() {}

  /// Names of the values to report, which may be inside loops and branches; every name that Patch::tap() takes. Called
  /// by Session::set_observer, which throws Code::bad_input for a name that the model does not have.
  virtual std::vector<std::string> wanted() const { return {}; }
  /// A wanted value, each time it has been computed. A value inside a fused kernel is computed separately, with the
  /// same bits; the kernel itself runs as without an observer.
  virtual void value(const ValueEvent&) {}
  /// Called before a run for a wanted value that the passes have removed. True: the run continues without it; otherwise
  /// it fails with Code::unsupported. Tier "ref" has all values.
  virtual bool without(std::string_view /*name*/, std::string_view /*why*/) { return false; }
};

/// Asked before a model is loaded or run; the default allows everything. A returned text is the reason for refusing and
/// is thrown as Code::bad_input. Must be thread-safe when sessions on several threads share it.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::optional<std::string> check_load(const Model&) { return std::nullopt; }
  /// Before an edit takes effect (Patch::commit, LiveModel), after check_load(to): the model as it is, and as it would
  /// be.
  virtual std::optional<std::string> check_edit(const Model& /*from*/, const Model& /*to*/) { return std::nullopt; }
  virtual std::optional<std::string> check_run(const Model&) { return std::nullopt; }
};

}  // namespace frazil::api
