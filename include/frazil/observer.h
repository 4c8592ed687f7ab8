#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace frazil::api {

class Model;

/// A node as events tell it. Texts are valid during the call.
struct NodeEvent {
  std::string_view name;  ///< the ONNX node's name; parts of a composite operator have the name of the whole
  std::string_view op;    ///< what runs: "Conv", "If", ...
  std::uint32_t id;       ///< the same for the same node in every run
};

/// Sees what a session does, in order, on the session's thread. Functions must not throw nor call the session, cancel()
/// aside. The reference tier tells nothing.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void run_begin() {}
  virtual void run_end() {}
  virtual void node_begin(const NodeEvent&) {}
  virtual void node_end(const NodeEvent&) {}
  /// A condition was decided: which side of an If, or whether a Loop goes on.
  virtual void branch(const NodeEvent&, bool) {}
  /// One iteration of a loop ended.
  virtual void iteration(const NodeEvent&) {}
  /// Extents differ from those before: what depends on them is prepared anew.
  virtual void shapes_changed() {}
};

/// Asked before things happen; the default allows everything. A text is the reason for a refusal, which is thrown as
/// Code::bad_input. Thread-safe where sessions of several threads share it.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::optional<std::string> check_load(const Model&) { return std::nullopt; }
  virtual std::optional<std::string> check_run(const Model&) { return std::nullopt; }
};

}  // namespace frazil::api
