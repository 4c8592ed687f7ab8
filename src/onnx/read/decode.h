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
#include "onnx/read/fixed_extents.h"
#include "onnx/read/wire.h"
#include "tensor/onnx_proto.h"

namespace frazil::onnx {

/// The properties of the model that are needed to decode its parts.
struct Source {
  std::shared_ptr<const void> keep_alive;
  ExternalLoader external;
  std::size_t max_name = 0;
  FixedExtents fixed{};
  bool own_extents = false;  ///< each open dimension has a symbol of its own, whatever its name
  std::map<std::string, Bounds, std::less<>> bounds{};  ///< by symbol name
  IgnoredFaults ignored{};  ///< receives the faults of tensors that do not matter; empty: they are faults
};

/// The prefix of a metadata key, followed by a symbol's name. The value holds the symbol's bounds: "1..64".
inline constexpr std::string_view kBoundsKey = "frazil.dim.";

Result<Tensor> read_tensor(const Source& source, Bytes bytes);
struct SparseTensor {
  std::string_view name;
  Tensor dense;
};
Result<SparseTensor> read_sparse_tensor(const Source& source, Bytes bytes);
Result<std::string_view> sparse_tensor_name(Bytes bytes);

/// A decoded ValueInfoProto.
struct ValueInfo {
  std::string_view name;
  std::optional<Bytes> type;
};
Result<ValueInfo> read_value_info(Bytes bytes);
/// Decodes a TypeProto. Named dims become symbols of that name; other dims become symbols "value.axis" named after
/// `value`. Items of sequences, optionals and maps without extents are unranked.
Result<Type> read_type(Bytes bytes, Builder& builder, std::string_view value, const Source& source);
/// Returns the extents of the shape in a TypeProto of a tensor, or of an optional tensor: a number as text, the text of
/// dim_param, or "". Returns nullopt if it has no shape.
Result<std::optional<std::vector<std::string>>> declared_extents(Bytes bytes);

/// A graph in an attribute.
struct GraphAttr {
  Bytes bytes;
  std::shared_ptr<void> scope;  ///< scope for its names, if it differs from the attribute's
};
/// An attribute of a node: a value, a graph, or a type. Dims of the type are ignored.
struct NamedAttr {
  std::string_view name;
  std::variant<AttrValue, GraphAttr, Type> value;
  const AttrValue* plain() const { return std::get_if<AttrValue>(&value); }
  /// Returns the size of a copy in bytes. A tensor counts no elements, because copies share them. A graph counts the
  /// bytes that are read again.
  std::size_t bytes() const;
  /// Returns "int", "graph", "type", ... for messages.
  std::string_view kind() const;
};
/// An AttributeProto: a value, or the name of the function attribute that provides it.
struct AttrOrRef {
  NamedAttr attr;
  std::string_view ref;  ///< empty for a value
};
Result<AttrOrRef> read_attribute(const Source& source, Bytes bytes);

/// Converts attributes of a node to those of `op`. The caller handles graphs. Faults do not name the node.
Result<Attrs> bind_attributes(const OpDef& op, const std::vector<NamedAttr>& attrs);

}  // namespace frazil::onnx
