#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/array.h>
#include <frazil/build.h>

namespace frazil::api {

/// The type of a tensor as it is known before a run.
struct TensorType {
  Dtype dtype = Dtype::f32;
  /// The extents as in Port::dims. Extents of results may be expressions of operands' extents, each in brackets: "2*(N
  /// + 1)", "floordiv((N), 2)". "?" is an extent that is known only after the node has run.
  std::vector<std::string> dims;
  bool ranked = true;  ///< false: the number of axes is unknown and `dims` is meaningless
  bool given = true;   ///< for operands: false if an optional one is absent
};

/// The attributes of a node, with defaults for those that it does not set. Throws Code::bad_input for a name or a kind
/// that the operator does not declare.
class NodeAttributes {
 public:
  std::int64_t integer(std::string_view name) const;
  float real(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<float> reals(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  Array tensor(std::string_view name) const;

 private:
  friend struct Access;
  template <class T>
  const T& get(std::string_view name) const;
  const void* attrs_ = nullptr;
};

/// The reply of an asynchronous operator. A handle: copies belong to the same call. Thread-safe. The first give() or
/// fail() counts, and later ones have no effect. If all copies are destroyed without a reply, the call fails with
/// Code::bad_input.
class HostReply {
 public:
  /// Gives one tensor per output, of the types that HostOperator::types returned.
  void give(std::vector<Array> results) const;
  /// Ends the call with an exception, as if HostOperator::run had thrown it.
  void fail(std::exception_ptr why) const;

 private:
  friend struct Access;
  struct State;
  class Last;
  explicit HostReply(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
  std::shared_ptr<Last> last_;
};

/// One call of an asynchronous operator.
struct HostStart {
  NodeAttributes attributes;      ///< valid until HostOperator::start returns
  std::vector<Array> inputs;      ///< an absent operand is an empty Array; they may be kept
  std::shared_ptr<void> context;  ///< of Session::set_context()
  std::optional<std::chrono::steady_clock::time_point> deadline;  ///< when the run must have ended
};

/// A custom operator that the program defines by two functions over tensors. Graphs, ONNX files and the text form refer
/// to it as to any other operator. An ONNX model must import an opset of the operator's domain.
///
///   HostOperator twice{.name = "Twice", .domain = "com.acme"};
///   twice.types = [](const NodeAttributes&, std::span<const TensorType> in) { return std::vector{in[0]}; };
///   twice.run = [](const NodeAttributes&, std::span<const Array> in) {
///     Array y = in[0];
///     for (float& v : y.mutable_values<float>()) v *= 2;
///     return std::vector{y};
///   };
///   register_operator(twice);
///   Term y = graph.op("com.acme.Twice", {x});
///
/// `types` is called whenever types are inferred: on any thread that builds, loads or opens a model, or runs one on the
/// reference tier. It is called often, with more or fewer known extents, and must return equal results for equal
/// arguments.
///
/// `run` is called on the thread of the session that runs. For constant operands, it is called on a thread that opens a
/// session. Several threads may call the functions at the same time. The functions must not use the calling session.
///
/// An asynchronous operator has `start` instead of `run`. It begins its work and returns; any thread replies later. In
/// Session::start() the run holds no thread until then; in other runs its thread waits. After a cancelled run, and
/// after one whose deadline has passed, a reply has no effect.
///
/// An exception of a function ends the call with an error that names the node: an Error keeps its code, std::bad_alloc
/// becomes Code::out_of_memory, and any other exception becomes Code::bad_input with its text.
struct HostOperator {
  /// Returns one type per output of the node, or for all `outputs`. Operands are tensors and always include the
  /// optional ones.
  using Types = std::function<std::vector<TensorType>(const NodeAttributes&, std::span<const TensorType>)>;
  /// Returns one tensor per type that `types` returned. An absent operand is an empty Array.
  using Run = std::function<std::vector<Array>(const NodeAttributes&, std::span<const Array>)>;

  /// Begins an asynchronous call. An exception ends it as HostReply::fail() does.
  using Start = std::function<void(HostStart, HostReply)>;

  std::string name;    ///< letters, digits and _
  std::string domain;  ///< "com.acme"; not empty, unless the operator belongs to one model
  std::string doc = {};
  std::size_t inputs = 1;           ///< number of required inputs
  std::size_t optional_inputs = 0;  ///< number of optional inputs after the required ones
  bool variadic = false;            ///< any number of further inputs, instead of optional ones
  std::size_t outputs = 1;          ///< maximal number of outputs; a node may have fewer
  Attributes attributes = {};       ///< at most 16, with their defaults, which determine their kinds
  /// The results depend only on operands and attributes. Equal nodes may then be computed once, or when a model is
  /// opened.
  bool pure = true;
  /// A call has effects outside of the graph, such as a line in a log. Nodes then run even if nothing uses their
  /// results, and in the order of the graph. Requires `pure = false`.
  bool effects = false;
  /// Pass operands as views of the run's memory, without a copy. An Array and its copies must then not outlive the
  /// call.
  bool views = false;
  Types types = {};
  Run run = {};  ///< this or `start`
  Start start = {};
};

/// Registers the operator permanently in this process; LoadOptions::operators has those of one model. Thread-safe.
/// Throws Code::bad_input if it is incomplete, or its domain has an operator of this name.
void register_operator(HostOperator op);

}  // namespace frazil::api
