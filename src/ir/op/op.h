#pragma once

#include <map>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/graph/attr.h"
#include "ir/graph/type.h"
#include "ir/op/flow.h"
#include "ir/op/scalar.h"
#include "ir/op/space.h"
#include "tensor/datum.h"

namespace frazil {

class InferCx;
class RegionCx;
class CompositeCx;
class OpaqueCall;
struct Node;

/// One input or output of an operator. Ports with the same `var` have the same element type.
struct Port {
  enum class Use : std::uint8_t { required, optional, variadic };
  std::string_view name;
  std::string_view var;  ///< such as "T"; an output's var is bound by the inputs, or its set has one type
  ElemSet set = 0;       ///< accepted element types; 0: any value, tensor or not
  Use use = Use::required;
  bool any_rank = false;  ///< input: the type rule accepts a tensor of unknown rank
};

// ---- the six forms; consumers dispatch on the form, not on the operator ----

/// One element of an operand of any type.
struct ElementRef {
  Elem elem;
  const std::byte* data;
  template <class T>
  const T& as() const {
    return *reinterpret_cast<const T*>(data);
  }
};
/// Computes one output element from one element of each operand, for operations that a scalar program cannot express:
/// comparing and moving strings. It does not create or parse strings.
using PlainBody = Status (*)(std::span<const ElementRef> operands, const void* attrs, Elem elem, std::byte* out);

/// out[i] = body(in_0[i], in_1[i], ...) with broadcasting. The body sees operands in their compute type; the result is
/// cast to the output's element type.
struct Elementwise {
  Sx (*body)(std::span<const Sx> operands, const void* attrs);
  /// Returns the output's element type if the ports do not determine it (Cast); otherwise null.
  Elem (*result)(const void* attrs, std::span<const Elem> inputs) = nullptr;
  /// Checks the attributes. Null if every combination is valid.
  Status (*check)(const void* attrs) = nullptr;
  /// Replaces the body if an operand or the output is a string. Null if the body handles strings.
  PlainBody plain = nullptr;
  /// Checks the attributes for operands of these element types. Null if every combination is valid.
  Status (*fits)(const void* attrs, std::span<const Elem> inputs) = nullptr;
};

/// A fold over an iteration space. The space is the type rule.
struct Contraction {
  Status (*space)(InferCx& cx, Space& space);
  /// Computes the contribution of one point, in the operands' compute types. Absent operands are not passed.
  Sx (*body)(std::span<const Sx> operands, const void* attrs);
  /// Returns output element types if the ports do not determine them; otherwise null. Sums use compute_elem of output
  /// 0.
  Elem (*result)(const void* attrs, std::span<const Elem> inputs) = nullptr;
};

/// A rearrangement of elements without arithmetic. One map per output.
struct View {
  Status (*maps)(InferCx& cx, std::vector<ViewMap>& maps);
};

/// A body that calls other operators. It is the reference for any fast kernel.
struct Composite {
  void (*body)(CompositeCx& cx);
  /// Returns the element type of output 0 if the ports do not determine it and the operands' ranks are unknown;
  /// otherwise null.
  Elem (*result)(const void* attrs, std::span<const Elem> inputs) = nullptr;
};

/// A type rule and a reference kernel.
struct Opaque {
  /// How the time of `run` grows with n, the number of elements of all operands and results.
  enum class Work : std::uint8_t {
    linear,     ///< at most a constant number of operations per element
    sorting,    ///< n log n
    quadratic,  ///< n squared
    cubic,      ///< n to the power of 1.5, as for square matrices of n elements
    unknown,    ///< it depends on more than n
  };
  Status (*types)(InferCx& cx);
  Status (*run)(OpaqueCall& call);
  std::string_view reason;  ///< why no other form fits; one line
  /// True if `run` takes operands of unknown rank as they come. Otherwise the type rule is applied again to their
  /// values.
  bool any_rank = false;
  Work work = Work::linear;
};

/// Control flow over blocks.
struct Region {
  /// Returns the types of the params of block `index`, before the body is known.
  Result<std::vector<Type>> (*params)(RegionCx& cx, std::size_t index);
  /// Finds the output types after all bodies are known. May widen params (RegionCx::widen); the bodies are then
  /// inferred again.
  Status (*types)(RegionCx& cx);
  void (*lower)(const Node& node, const class Graph& graph, Flow& flow);
  std::size_t blocks;                             ///< number of bodies
  std::span<const std::string_view> block_attrs;  ///< the ONNX attributes that hold the bodies, in order
};

using Form = std::variant<Elementwise, Contraction, View, Composite, Opaque, Region>;
std::string_view form_name(const Form& form);

/// The opsets of an implementation. It follows `newest`. `oldest` is the first one in which a node in this form has the
/// same meaning, possibly with fewer element types. Nodes of older opsets are upgraded at import.
struct OpsetRange {
  int newest = 1;
  int oldest = 1;
  constexpr OpsetRange(int only) : newest(only), oldest(only) {}  // NOLINT(google-explicit-constructor)
  constexpr OpsetRange(int last, int first) : newest(last), oldest(first) {}
};

/// One operator: the only definition of its meaning. Identified by address.
struct OpDef {
  std::string_view name;
  std::string_view domain;  ///< "" is ai.onnx
  OpsetRange since = 1;
  std::string_view doc;
  AttrTable attrs;
  std::span<const Port> inputs;
  std::span<const Port> outputs;
  Form form;
  /// True if results depend on more than operands and attributes: two nodes, or two runs of one node, may differ.
  bool stateful = false;
  /// True if a run changes something outside of the graph. A node runs even if nothing uses its results, and such nodes
  /// run in the order of the graph. Requires `stateful`.
  bool effects = false;
};

/// Returns the nodes with effects, and the regions around them.
std::vector<NodeId> nodes_with_effects(const Graph& graph);

/// Returns attributes with their defaults.
Attrs default_attrs(const OpDef& op);

/// The registry of all operators, by domain and name. Thread-safe after static initialisation.
class OpRegistry {
 public:
  static OpRegistry& global();
  /// Returns false, and ignores the operator, if one of the same domain and name exists.
  bool add(const OpDef& op);
  const OpDef* find(std::string_view domain, std::string_view name) const;
  std::vector<const OpDef*> all() const;  ///< sorted by domain, name
  /// Returns names within edit distance 2, for error messages.
  std::vector<std::string_view> close_to(std::string_view name) const;

 private:
  std::map<std::pair<std::string_view, std::string_view>, const OpDef*> ops_;  // by domain, name
};

/// Registers an operator of this program. Aborts if one of the same domain and name exists.
struct OpRegistration {
  explicit OpRegistration(const OpDef& op);
};

// ---- element type sets ----
namespace elems {
constexpr ElemSet kBool = one(Elem::boolean);
constexpr ElemSet kSigned = one(Elem::i8) | one(Elem::i16) | one(Elem::i32) | one(Elem::i64);
constexpr ElemSet kUnsigned = one(Elem::u8) | one(Elem::u16) | one(Elem::u32) | one(Elem::u64);
constexpr ElemSet kInt = kSigned | kUnsigned;
constexpr ElemSet kIndex = one(Elem::i32) | one(Elem::i64);
constexpr ElemSet kI64 = one(Elem::i64);
constexpr ElemSet kF32 = one(Elem::f32);
constexpr ElemSet kFloat = one(Elem::f16) | one(Elem::bf16) | one(Elem::f32) | one(Elem::f64);
constexpr ElemSet kNumeric = kInt | kFloat;
constexpr ElemSet kString = one(Elem::string);
constexpr ElemSet kTensor = (ElemSet{1} << kElemCount) - 1;  ///< every element type
}  // namespace elems

}  // namespace frazil
