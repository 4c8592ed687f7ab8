#include <algorithm>

#include "onnx/upgrade/upgrade.h"

namespace frazil::onnx {

bool Draft::has_attr(std::string_view attr) const {
  return std::ranges::any_of(attrs, [&](const NamedAttr& a) { return a.name == attr; });
}

void Draft::drop(std::string_view attr) {
  std::erase_if(attrs, [&](const NamedAttr& a) { return a.name == attr; });
}

void Draft::set(std::string_view attr, AttrValue value) {
  drop(attr);
  attrs.push_back({attr, std::move(value)});
}

Result<std::optional<AttrValue>> Draft::take_value(std::string_view attr, AttrKind kind) {
  const auto found = std::ranges::find(attrs, attr, &NamedAttr::name);
  if (found == attrs.end()) return std::nullopt;
  const AttrValue* value = found->plain();
  if (value == nullptr || static_cast<AttrKind>(value->index()) != kind) {
    return error("attribute '{}': expected {}, got {}", attr, name_of(kind), found->kind());
  }
  std::optional<AttrValue> taken = *value;
  attrs.erase(found);
  return taken;
}

Result<std::optional<GraphAttr>> Draft::take_graph(std::string_view attr) {
  const auto found = std::ranges::find(attrs, attr, &NamedAttr::name);
  if (found == attrs.end()) return std::nullopt;
  const auto* graph = std::get_if<GraphAttr>(&found->value);
  if (graph == nullptr) return error("attribute '{}': expected graph, got {}", attr, found->kind());
  std::optional<GraphAttr> taken = *graph;
  attrs.erase(found);
  return taken;
}

Result<Type> Draft::input(std::size_t i) const {
  if (!has(i)) return error("input {} is missing", i);
  return type(in[i]);
}

Result<std::int64_t> Draft::rank(std::size_t i) const {
  FRAZIL_TRY(const Type t, input(i));
  if (t.is_tensor() && t.ranked) return static_cast<std::int64_t>(t.rank());
  return unsupported("the meaning of opset {} needs the rank of input {}, got {}", opset, i,
                     str(t, builder_.graph().scope()));
}

void Draft::put(std::size_t i, Value v) {
  if (in.size() <= i) in.resize(i + 1);
  in[i] = v;
}

const Tensor* Draft::constant(std::size_t i) const {
  const Constant* c = has(i) ? builder_.graph().constant(in[i]) : nullptr;
  return c ? &c->tensor : nullptr;
}

Value Draft::number(Elem elem, double value) { return CompositeCx(builder_, {}, nullptr, 0).number(elem, value).value; }

Result<std::vector<Value>> Draft::emit_all(std::string_view op_type, std::vector<Value> inputs,
                                           const std::vector<NamedAttr>& attributes, const std::vector<bool>& outputs) {
  const std::size_t dot = op_type.rfind('.');
  const bool plain = dot == std::string_view::npos;
  const OpDef* def =
      OpRegistry::global().find(plain ? "" : op_type.substr(0, dot), op_type.substr(plain ? 0 : dot + 1));
  if (def == nullptr) return unsupported("it becomes '{}', which this build lacks", op_type);
  auto bound = bind_attributes(*def, attributes);
  if (!bound) return at_node(describe(), std::move(bound).error());
  FRAZIL_TRY(const NodeId id, builder_.append(*def, std::move(inputs), std::move(*bound), outputs, name));
  return builder_.graph().node(id).out;
}

Result<Value> Draft::emit(std::string_view op_type, std::vector<Value> inputs,
                          const std::vector<NamedAttr>& attributes) {
  FRAZIL_TRY(const auto values, emit_all(op_type, std::move(inputs), attributes, {true}));
  return values[0];
}

Status Draft::become(std::string_view op_type, std::vector<Value> inputs, const std::vector<NamedAttr>& attributes) {
  FRAZIL_TRY(const Value v, emit(op_type, std::move(inputs), attributes));
  results = {v};
  return {};
}

}  // namespace frazil::onnx
