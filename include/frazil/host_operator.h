#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/array.h>
#include <frazil/build.h>

namespace frazil::api {

/// What is known of a tensor before a run.
struct TensorType {
  Dtype dtype = Dtype::f32;
  /// As Port::dims. Results may be expressions of operands' extents, each in brackets: "2*(N + 1)", "floordiv((N), 2)";
  /// and "?": known once the node has run.
  std::vector<std::string> dims;
  bool ranked = true;  ///< false: the number of axes is unknown, and `dims` says nothing
  bool given = true;   ///< operands: false where an optional one is absent
};

/// The attributes of a node, or the defaults of those that it does not set. Throws Code::bad_input for a name or a kind
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

/// An operator whose meaning is the program's own: two functions over tensors. Graphs, ONNX files (where the model
/// imports any opset of the domain) and the text form name it as any other.
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
/// reference tier; often, with more or fewer extents known. It must give equal results for equal arguments. `run` is
/// called on the thread of the session that runs, or, for operands that are constants, on one that opens a session.
/// Both may be called on several threads at once, and must not use the session that calls them.
///
/// What they throw ends the call that led there with an error that names the node: an Error with its code,
/// std::bad_alloc as Code::out_of_memory, any other exception as Code::bad_input with its text.
struct HostOperator {
  /// One type per output. Operands are tensors; the optional ones are always among them.
  using Types = std::function<std::vector<TensorType>(const NodeAttributes&, std::span<const TensorType>)>;
  /// One tensor per output, of the types promised; an absent operand is an empty Array.
  using Run = std::function<std::vector<Array>(const NodeAttributes&, std::span<const Array>)>;

  std::string name;    ///< letters, digits and _
  std::string domain;  ///< "com.acme"; not empty
  std::string doc = {};
  std::size_t inputs = 1;           ///< that a node must have
  std::size_t optional_inputs = 0;  ///< behind these
  bool variadic = false;            ///< any number of further inputs, instead of optional ones
  std::size_t outputs = 1;          ///< at most; a node may have fewer
  Attributes attributes = {};       ///< at most 16, with their defaults, which also tell their kinds
  /// Results depend on operands and attributes alone: equal nodes may be computed once, or when a model is opened.
  bool pure = true;
  /// Operands are views of the run's memory, which spares a copy: an Array and its copies must not outlive the call.
  bool views = false;
  Types types = {};
  Run run = {};
};

/// Makes the operator known to the process, for good. Thread-safe. Throws Code::bad_input when it is incomplete, or its
/// domain has one of this name.
void register_operator(HostOperator op);

}  // namespace frazil::api
