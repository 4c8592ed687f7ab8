#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/attr.h"
#include "ir/builder.h"
#include "onnx/wire.h"
#include "tensor/onnx_proto.h"

namespace frazil::onnx {

/// What decoding needs to know of the model that bytes come from.
struct Source {
  std::shared_ptr<const void> keep_alive;
  ExternalLoader external;
  std::size_t max_name = 0;
  std::map<std::string, Bounds, std::less<>> bounds{};  ///< of symbols, by name
};

/// Metadata of a model under this key and a symbol's name are its bounds: "1..64".
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
/// A TypeProto. Named dims become symbols of that name; others symbols named after `value`: "value.axis". Sequence,
/// optional and map items of unknown extents are unranked.
Result<Type> read_type(Bytes bytes, Builder& builder, std::string_view value, const Source& source);

/// A graph that an attribute holds.
struct GraphAttr {
  Bytes bytes;
  std::shared_ptr<void> scope;  ///< where its names are looked up when that is not where the attribute stands
};
/// An attribute of a node: a value, a graph, or a type (whose dims say nothing).
struct NamedAttr {
  std::string_view name;
  std::variant<AttrValue, GraphAttr, Type> value;
  const AttrValue* plain() const { return std::get_if<AttrValue>(&value); }
  /// "int", "graph", "type", ... for messages.
  std::string_view kind() const;
};
/// An AttributeProto: a value, or the name of the function's attribute that gives it.
struct AttrOrRef {
  NamedAttr attr;
  std::string_view ref;  ///< empty: a value
};
Result<AttrOrRef> read_attribute(const Source& source, Bytes bytes);

/// Attributes of `op` from a node's; graphs are left to the caller. Faults are told without the node.
Result<Attrs> bind_attributes(const OpDef& op, const std::vector<NamedAttr>& attrs);

}  // namespace frazil::onnx
