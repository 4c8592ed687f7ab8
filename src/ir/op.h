#pragma once

#include <map>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/attr.h"
#include "ir/flow.h"
#include "ir/scalar.h"
#include "ir/space.h"
#include "ir/type.h"
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
  std::string_view var;  ///< "T"; an output's var is bound by the inputs, or its set has one type
  ElemSet set = 0;       ///< accepted element types; 0: any value, tensor or not
  Use use = Use::required;
};

// ---- the six forms. Every consumer visits the form and none asks which operator it is. ----

/// One element of an operand of any type.
struct ElementRef {
  Elem elem;
  const std::byte* data;
  template <class T>
  const T& as() const {
    return *reinterpret_cast<const T*>(data);
  }
};
/// One element of an output from one of each operand, where a tape cannot say it: it compares and moves strings, but
/// neither makes nor reads them.
using PlainBody = Status (*)(std::span<const ElementRef> operands, const void* attrs, Elem elem, std::byte* out);

/// out[i] = body(in_0[i], in_1[i], ...) with broadcasting. The body sees operands in their compute type; the result is
/// cast to the output's element type.
struct Elementwise {
  Sx (*body)(std::span<const Sx> operands, const void* attrs);
  /// The output's element type where the ports do not give it (Cast); else null.
  Elem (*result)(const void* attrs, std::span<const Elem> inputs) = nullptr;
  /// What is wrong with the attributes; null where nothing can be.
  Status (*check)(const void* attrs) = nullptr;
  /// In place of the body where an operand or the output is a string; null where the body serves strings, too.
  PlainBody plain = nullptr;
  /// What is wrong with attributes for operands of these element types; null where nothing can be.
  Status (*fits)(const void* attrs, std::span<const Elem> inputs) = nullptr;
};

/// A fold over an iteration space. The type rule is the space.
struct Contraction {
  Status (*space)(InferCx& cx, Space& space);
  /// The contribution of one point, from the operands in their compute types (absent operands are not passed).
  Sx (*body)(std::span<const Sx> operands, const void* attrs);
  /// Output element types where the ports do not give them (null otherwise). Sums happen in compute_elem of output 0.
  Elem (*result)(const void* attrs, std::span<const Elem> inputs) = nullptr;
};

/// A rearrangement: no arithmetic. One map per output.
struct View {
  Status (*maps)(InferCx& cx, std::vector<ViewMap>& maps);
};

/// A body that calls other operators; the oracle of any fast kernel for it.
struct Composite {
  void (*body)(CompositeCx& cx);
  /// The element type of output 0 where the ports do not give it and the operands' ranks are not known; else null.
  Elem (*result)(const void* attrs, std::span<const Elem> inputs) = nullptr;
};

/// A type rule and a reference kernel.
struct Opaque {
  Status (*types)(InferCx& cx);
  Status (*run)(OpaqueCall& call);
  std::string_view reason;  ///< why no other form fits, one line
};

/// Control flow over blocks.
struct Region {
  /// Types of the params of block `index`, known before the body is.
  Result<std::vector<Type>> (*params)(RegionCx& cx, std::size_t index);
  /// Output types once all bodies are known. May widen params (RegionCx::widen); then the bodies are inferred again.
  Status (*types)(RegionCx& cx);
  void (*lower)(const Node& node, const class Graph& graph, Flow& flow);
  std::size_t blocks;                             ///< how many
  std::span<const std::string_view> block_attrs;  ///< the ONNX attributes that hold them, in order
};

using Form = std::variant<Elementwise, Contraction, View, Composite, Opaque, Region>;
std::string_view form_name(const Form& form);

/// The opset of the meaning implemented, and the oldest one in which a node written in this form means the same, with
/// fewer element types perhaps. Nodes of opsets before that are upgraded at import.
struct OpsetRange {
  int newest = 1;
  int oldest = 1;
  constexpr OpsetRange(int only) : newest(only), oldest(only) {}  // NOLINT(google-explicit-constructor)
  constexpr OpsetRange(int last, int first) : newest(last), oldest(first) {}
};

/// One operator: the only place that says what it means. Identity is its address.
struct OpDef {
  std::string_view name;
  std::string_view domain;  ///< "" is ai.onnx
  OpsetRange since = 1;
  std::string_view doc;
  AttrTable attrs;
  std::span<const Port> inputs;
  std::span<const Port> outputs;
  Form form;
  /// Its results do not follow from operands and attributes alone: two nodes, or two runs of one, may differ.
  bool stateful = false;
};

/// Makes attributes at their defaults.
Attrs default_attrs(const OpDef& op);

/// All operators, in definition order. Thread-safe after static initialisation.
class OpRegistry {
 public:
  static OpRegistry& global();
  /// A second operator of the same domain and name is ignored and reported false.
  bool add(const OpDef& op);
  const OpDef* find(std::string_view domain, std::string_view name) const;
  std::vector<const OpDef*> all() const;  ///< sorted by domain, name
  /// Names within edit distance 2, for error messages.
  std::vector<std::string_view> close_to(std::string_view name) const;

 private:
  std::map<std::pair<std::string_view, std::string_view>, const OpDef*> ops_;  // by domain, name
};

struct OpRegistration {
  explicit OpRegistration(const OpDef& op) { OpRegistry::global().add(op); }
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
