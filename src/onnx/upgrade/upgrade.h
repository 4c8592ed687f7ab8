#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/edit/builder.h"
#include "onnx/read/decode.h"

namespace frazil::onnx {

/// A function that converts the results of a region created for a node to the node's results.
using Finish = std::function<Result<std::vector<Value>>(const std::vector<Value>& results)>;

struct Splice;
/// The outcome of a splice: the node's results, or a further splice.
struct Spliced {
  std::vector<Value> results;
  std::unique_ptr<Splice> next = {};
};
/// A subgraph of a node. It is inlined into a block with these values as inputs.
struct Splice {
  std::string_view attr;
  GraphAttr graph;
  std::vector<Value> inputs;
  BlockId block;
  std::function<Result<Spliced>(const std::vector<Value>& results)> then;
};

/// A node during import. Its inputs are resolved and its attributes decoded. Upgrades rewrite it in place, add nodes
/// before it, or replace it by `results`.
class Draft {
 public:
  Draft(Builder& builder, std::string_view op_type, std::string_view op_domain, std::int64_t version)
      : op(op_type), domain(op_domain), opset(version), block(builder.block()), builder_(builder) {}

  std::string_view op, domain;
  std::int64_t opset;  ///< opset of the domain that the model imports
  std::string name;
  std::vector<Value> in;
  std::vector<bool> wanted;  ///< one per output
  std::vector<NamedAttr> attrs;
  std::optional<std::vector<Value>> results;  ///< if set, replace the node's outputs
  BlockId block;                   ///< block for a region; differs from the node's block only if an upgrade changes it
  Finish finish;                   ///< called when the region is complete
  std::unique_ptr<Splice> splice;  ///< if set, its outcome replaces the node's outputs

  Builder& builder() { return builder_; }
  /// Returns for example "node 'Conv_1' (Conv)".
  std::string describe() const { return fmt::format("node '{}' ({})", proto::shown(name), proto::shown(op)); }
  template <class... A>
  [[nodiscard]] std::unexpected<Fault> error(fmt::format_string<A...> format, A&&... args) const {
    return fail_at(describe(), Code::bad_model, format, std::forward<A>(args)...);
  }
  template <class... A>
  [[nodiscard]] std::unexpected<Fault> unsupported(fmt::format_string<A...> format, A&&... args) const {
    return fail_at(describe(), Code::unsupported, format, std::forward<A>(args)...);
  }

  // ---- attributes ----
  bool has_attr(std::string_view attr) const;
  /// Removes the attribute and returns its value, or nullopt if it is absent.
  template <class T>
  Result<std::optional<T>> take(std::string_view attr);
  /// Removes the attribute and returns its value, or `otherwise` if it is absent.
  template <class T>
  Result<T> take_or(std::string_view attr, T otherwise);
  /// Removes the subgraph attribute and returns it, or nullopt if it is absent.
  Result<std::optional<GraphAttr>> take_graph(std::string_view attr);
  void drop(std::string_view attr);
  void set(std::string_view attr, AttrValue value);  ///< `attr` must outlive the draft

  // ---- inputs ----
  bool has(std::size_t i) const { return i < in.size() && static_cast<bool>(in[i]); }
  bool wants(std::size_t i) const { return i < wanted.size() && wanted[i]; }
  const Type& type(Value v) const { return builder_.graph().type(v); }
  /// Returns the type of input i, which must be present.
  Result<Type> input(std::size_t i) const;
  /// Returns the rank of input i, which must be known.
  Result<std::int64_t> rank(std::size_t i) const;
  void put(std::size_t i, Value v);
  /// Returns the constant of input i, or null if it is not constant.
  const Tensor* constant(std::size_t i) const;

  // ---- additional nodes in their newest forms; op_type may include a domain, as in "frazil.Fit" ----
  Value ints(std::vector<std::int64_t> values) { return builder_.ints(values).value; }
  Value scalar(std::int64_t value) { return builder_.scalar(value).value; }
  Value number(Elem elem, double value);  ///< a scalar
  Result<Value> emit(std::string_view op_type, std::vector<Value> inputs,
                     const std::vector<NamedAttr>& attributes = {});
  Result<std::vector<Value>> emit_all(std::string_view op_type, std::vector<Value> inputs,
                                      const std::vector<NamedAttr>& attributes, const std::vector<bool>& outputs);
  /// Replaces the node by an emitted node with one result.
  Status become(std::string_view op_type, std::vector<Value> inputs, const std::vector<NamedAttr>& attributes = {});

 private:
  Result<std::optional<AttrValue>> take_value(std::string_view attr, AttrKind kind);
  Builder& builder_;
};

/// Converts a node of any older opset to the newest form of its operator.
Status upgrade(Draft& draft);

/// Returns whether upgrade() rewrites nodes of this operator in any opset.
bool has_upgrade(std::string_view domain, std::string_view op);

/// Returns true if an import knows nodes of this operator and opset: the registry has it, or an upgrade replaces it.
bool is_known_operator(std::string_view domain, std::string_view op, std::int64_t opset);

/// Returns the newest opset of `domain` in the table, or nullopt for domains that are not ONNX's.
std::optional<std::int64_t> newest_opset(std::string_view domain);

template <class T>
Result<std::optional<T>> Draft::take(std::string_view attr) {
  FRAZIL_TRY(auto value, take_value(attr, detail::AttrTraits<T>::kind));
  if (!value) return std::optional<T>();
  return std::optional<T>(std::get<T>(std::move(*value)));
}
template <class T>
Result<T> Draft::take_or(std::string_view attr, T otherwise) {
  FRAZIL_TRY(auto value, take<T>(attr));
  return value ? std::move(*value) : std::move(otherwise);
}

}  // namespace frazil::onnx
