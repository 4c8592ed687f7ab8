#include "onnx/export/fields.h"

#include <map>

#include "ir/op/op.h"
#include "onnx/export/names.h"
#include "onnx/read/decode.h"
#include "tensor/onnx_proto.h"

namespace frazil::onnx {

void add_properties(Writer& writer, protozero::pbf_tag_type tag, const Properties& properties) {
  for (const auto& [key, value] : properties) {
    Writer entry(writer, tag);
    entry.add_string(1, key);
    entry.add_string(2, value);
  }
}

// ---- types ----

std::string TypeWriter::dim(Dim d, std::size_t axis) const {
  std::string out;
  Writer writer(out);
  if (d.is_const()) {
    writer.add_int64(1, d.value());
    return out;
  }
  const auto symbol = scope_.as_symbol(d);
  if (!symbol || is_unbacked(scope_, *symbol)) return out;
  const std::string_view name = scope_.symbol_name(*symbol);
  if (name != fmt::format("{}.{}", value_, axis)) add_text(writer, 2, fitting(std::string(name)));
  return out;
}

std::string TypeWriter::shape(const Shape& shape) const {
  std::string out;
  Writer writer(out);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) writer.add_message(1, dim(shape[axis], axis));
  return out;
}

std::string TypeWriter::write(const Type& type) const {
  std::string inner, out;
  Writer fields(inner), writer(out);
  switch (type.kind) {
    case Type::Kind::tensor:
      fields.add_int32(1, onnx_data_type(type.elem));
      if (type.ranked) fields.add_message(2, shape(type.shape));
      writer.add_message(1, inner);
      break;
    case Type::Kind::map:
      fields.add_int32(1, onnx_data_type(type.elem));
      fields.add_message(2, write(*type.item));
      writer.add_message(5, inner);
      break;
    case Type::Kind::sequence:
    case Type::Kind::optional:
      fields.add_message(1, write(*type.item));
      writer.add_message(type.kind == Type::Kind::sequence ? 4 : 9, inner);
      break;
  }
  return out;
}

Properties bounds_of_symbols(const Graph& graph) {
  const Scope& scope = graph.scope();
  std::map<std::string, Bounds> found;
  for (const Value v : graph.main().params) {
    for (const Type* type = &graph.type(v); type != nullptr; type = type->item.get()) {
      for (const Dim d : type->shape) {
        const auto symbol = scope.as_symbol(d);
        if (symbol && !is_unbacked(scope, *symbol))
          found[fitting(std::string(scope.symbol_name(*symbol)))] = symbol_bounds(scope, *symbol);
      }
    }
  }
  Properties said;
  for (const auto& [name, bounds] : found) {
    if (bounds == Bounds{}) continue;
    said.emplace_back(std::string(kBoundsKey) + name,
                      fmt::format("{}..{}", bounds.min == Dim::kMin ? "" : std::to_string(bounds.min),
                                  bounds.max == Dim::kMax ? "" : std::to_string(bounds.max)));
  }
  return said;
}

std::string value_info(std::string_view name, const Type& type, const Scope& scope, const Notes* notes) {
  std::string out;
  Writer writer(out);
  add_text(writer, 1, name);
  writer.add_message(2, TypeWriter(scope, name).write(type));
  if (notes == nullptr) return out;
  add_text(writer, 3, notes->doc);
  add_properties(writer, 4, notes->metadata);
  return out;
}

// ---- attributes ----

namespace {

/// AttributeProto.AttributeType
enum Kind : int { kFloat = 1, kInt, kString, kTensor, kGraph, kFloats, kInts, kStrings };

/// A writer of an attribute value. Returns the kind of the value.
struct ValueWriter {
  Writer& writer;

  Result<Kind> operator()(std::int64_t v) const { return writer.add_int64(3, v), kInt; }
  Result<Kind> operator()(float v) const { return writer.add_float(2, v), kFloat; }
  Result<Kind> operator()(const std::string& v) const { return writer.add_bytes(4, v), kString; }
  Result<Kind> operator()(const Ints& v) const {
    for (const std::int64_t x : v) writer.add_int64(8, x);
    return kInts;
  }
  Result<Kind> operator()(const Floats& v) const {
    for (const float x : v) writer.add_float(7, x);
    return kFloats;
  }
  Result<Kind> operator()(const Strings& v) const {
    for (const std::string& x : v) writer.add_bytes(9, x);
    return kStrings;
  }
  Result<Kind> operator()(const Tensor& v) const {
    FRAZIL_TRY(const std::string bytes, tensor_to_proto(v));
    writer.add_message(5, bytes);
    return kTensor;
  }
};

}  // namespace

Result<std::vector<std::string>> attribute_protos(const Node& node, std::string_view left_out) {
  std::vector<std::string> protos;
  const Attrs defaults = default_attrs(*node.op);
  for (const AttrField& field : node.op->attrs.fields) {
    if (field.name == left_out) continue;
    const auto value = field.get(node.attrs.get()), usual = field.get(defaults.get());
    if (!value || (!field.required && usual && same(*value, *usual))) continue;
    if (const Tensor* tensor = std::get_if<Tensor>(&*value); tensor != nullptr && !tensor->defined()) continue;
    std::string& out = protos.emplace_back();
    Writer writer(out);
    add_text(writer, 1, field.name);
    FRAZIL_TRY(const Kind kind, std::visit(ValueWriter{writer}, *value));
    writer.add_enum(20, kind);
  }
  return protos;
}

std::string ints_attribute(std::string_view name, const Ints& values) {
  std::string out;
  Writer writer(out);
  add_text(writer, 1, name);
  for (const std::int64_t value : values) writer.add_int64(8, value);
  writer.add_enum(20, kInts);
  return out;
}

namespace {
std::string message_attribute(std::string_view name, protozero::pbf_tag_type tag, std::string_view message, Kind kind) {
  std::string out;
  Writer writer(out);
  add_text(writer, 1, name);
  writer.add_message(tag, message.data(), message.size());
  writer.add_enum(20, kind);
  return out;
}
}  // namespace

std::string graph_attribute(std::string_view name, std::string_view graph) {
  return message_attribute(name, 6, graph, kGraph);
}

std::string tensor_attribute(std::string_view name, std::string_view tensor) {
  return message_attribute(name, 5, tensor, kTensor);
}

}  // namespace frazil::onnx
