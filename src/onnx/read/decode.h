#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/edit/builder.h"
#include "ir/graph/attr.h"
#include "onnx/read/wire.h"
#include "tensor/onnx_proto.h"

namespace frazil::onnx {

/// Properties of the model that are needed to decode its parts.
struct Source {
  std::shared_ptr<const void> keep_alive;
  ExternalLoader external;
  std::size_t max_name = 0;
  std::map<std::string, Bounds, std::less<>> bounds{};  ///< per symbol name
};

/// Metadata with this key followed by a symbol's name hold its bounds: "1..64".
inline constexpr std::string_view kBoundsKey = "frazil.dim.";

Result<Tensor> read_tensor(const Source& source, Bytes bytes);
struct SparseTensor {
  std::string_view name;
  Tensor dense;
};
Result<SparseTensor> read_sparse_tensor(const Source& source, Bytes bytes);
Result<std::string_view> sparse_tensor_name(Bytes bytes);

/// A ValueInfoProto.
struct ValueInfo {
  std::string_view name;
  std::optional<Bytes> type;
};
Result<ValueInfo> read_value_info(Bytes bytes);
/// Decodes a TypeProto. Named dims become symbols of that name, others symbols named "value.axis" after `value`.
/// Sequence, optional and map items of unknown extents are unranked.
Result<Type> read_type(Bytes bytes, Builder& builder, std::string_view value, const Source& source);

/// A graph in an attribute.
struct GraphAttr {
  Bytes bytes;
  std::shared_ptr<void> scope;  ///< scope for its names, when it differs from the attribute's
};
/// An attribute of a node: a value, a graph, or a type (dims of the type are ignored).
struct NamedAttr {
  std::string_view name;
  std::variant<AttrValue, GraphAttr, Type> value;
  const AttrValue* plain() const { return std::get_if<AttrValue>(&value); }
  /// What a copy takes, without tensors, which share their elements, and for a graph what reading it takes.
  std::size_t bytes() const;
  /// "int", "graph", "type", ... for messages.
  std::string_view kind() const;
};
/// An AttributeProto: a value, or the name of the function attribute that provides it.
struct AttrOrRef {
  NamedAttr attr;
  std::string_view ref;  ///< empty: a value
};
Result<AttrOrRef> read_attribute(const Source& source, Bytes bytes);

/// Attributes of `op` from a node's; graphs are left to the caller. Faults omit the node.
Result<Attrs> bind_attributes(const OpDef& op, const std::vector<NamedAttr>& attrs);

}  // namespace frazil::onnx
