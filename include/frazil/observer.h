#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace frazil::api {

class Model;

/// Identifies a node in an event. The strings are valid during the call.
struct NodeEvent {
  std::string_view name;  ///< name of the ONNX node; nodes that a composite operator expands to have its name
  std::string_view op;    ///< the operator that runs: "Conv", "If", ...
  std::uint32_t id;       ///< the same for the same node in every run
};

/// Receives the events of a session, in order, on the session's thread. Functions must not throw and must not call the
/// session, except cancel(). The reference tier sends no events.
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
};

/// Asked before a model is loaded or run; the default allows everything. A returned text is the reason for refusing and
/// is thrown as Code::bad_input. Must be thread-safe when sessions on several threads share it.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::optional<std::string> check_load(const Model&) { return std::nullopt; }
  virtual std::optional<std::string> check_run(const Model&) { return std::nullopt; }
};

}  // namespace frazil::api
