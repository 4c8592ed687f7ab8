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

/// A node as events tell it. Texts are valid during the call.
struct NodeEvent {
  std::string_view name;  ///< the ONNX node's name; parts of a composite operator have the name of the whole
  std::string_view op;    ///< what runs: "Conv", "If", ...
  std::uint32_t id;       ///< the same for the same node in every run
};

/// A value inside of a graph, as a run made it. Name and iterations are valid during the call; the value may be kept.
struct ValueEvent {
  std::string_view name;  ///< as it was asked for
  const Array& value;
  /// Of a value inside of loops: their iterations, from 0 on, outermost first. A value that does not change from one
  /// iteration to the next may be told once, without that loop. Copies of a loop's body that was unrolled count through
  /// in the order in which they ran, and stand first.
  std::span<const std::int64_t> iterations;
};

/// Sees what a session does, in order, on the session's thread. Functions must not throw nor call the session, cancel()
/// aside. The reference tier tells of values only.
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

  /// Names of the values that `value` is to see, inside of graphs and of loops and branches, too: as the model has them
  /// (Model::text(), ONNX), or NODE:2 for output 2 of a node. Asked by Session::set_observer, which throws
  /// Code::bad_input for a name that the model does not have.
  virtual std::vector<std::string> wanted() const { return {}; }
  /// A wanted value, as soon as it is there, each time it is made. What runs as one with its neighbours is computed
  /// beside them, with the same bits; nothing else changes.
  virtual void value(const ValueEvent&) {}
  /// Before a run: the session's passes have removed a wanted value. True: the run goes on without it; else it fails
  /// with Code::unsupported. Tier "ref" has all values.
  virtual bool without(std::string_view /*name*/, std::string_view /*why*/) { return false; }
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
