#include <array>

#include "onnx/upgrade/rules.h"

namespace frazil::onnx::rules {
namespace {

template <class T>
Tensor vector_of(const std::vector<T>& values) {
  return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, std::span<const T>(values));
}

/// A converter of a constant's attribute to a tensor.
struct AsTensor {
  Tensor operator()(std::int64_t v) const { return Tensor::scalar(v); }
  Tensor operator()(float v) const { return Tensor::scalar(v); }
  Tensor operator()(const std::string& v) const { return Tensor::scalar(v); }
  Tensor operator()(const Ints& v) const { return vector_of(v); }
  Tensor operator()(const Floats& v) const { return vector_of(v); }
  Tensor operator()(const Strings& v) const { return vector_of(v); }
  Tensor operator()(const Tensor& v) const { return v; }
};

struct ConstantAttr {
  std::string_view name;
  AttrKind kind;
};
constexpr std::array kConstantAttrs = {
    ConstantAttr{"value", AttrKind::tensor},        ConstantAttr{"sparse_value", AttrKind::tensor},
    ConstantAttr{"value_float", AttrKind::real},    ConstantAttr{"value_floats", AttrKind::reals},
    ConstantAttr{"value_int", AttrKind::integer},   ConstantAttr{"value_ints", AttrKind::integers},
    ConstantAttr{"value_string", AttrKind::string}, ConstantAttr{"value_strings", AttrKind::strings},
};

std::string shown_names(const std::vector<NamedAttr>& attrs) {
  std::string names;
  for (const NamedAttr& attr : attrs) {
    names += fmt::format("{}'{}'", names.empty() ? "" : " and ", proto::shown(attr.name));
  }
  return names.empty() ? "none" : names;
}

}  // namespace

Status constant(Draft& d) {
  if (!d.in.empty()) return d.error("takes no inputs, got {}", d.in.size());
  if (d.attrs.size() != 1) {
    return d.error("it needs one attribute, 'value' or one that begins with it, got {}", shown_names(d.attrs));
  }
  const NamedAttr& attr = d.attrs[0];
  for (const auto& [name, kind] : kConstantAttrs) {
    if (attr.name != name) continue;
    if (attr.plain() == nullptr || static_cast<AttrKind>(attr.plain()->index()) != kind) {
      return d.error("attribute '{}': expected {}, got {}", name, name_of(kind), attr.kind());
    }
    d.results = {d.builder().constant(std::visit(AsTensor{}, *attr.plain())).value};
    return {};
  }
  return d.error("unknown attribute '{}'", proto::shown(attr.name));
}

Status alias(Draft& d) {
  if (d.in.size() != 1) return d.error("takes 1 input, got {}", d.in.size());
  if (!d.has(0)) return d.error("input 'input' is missing");
  if (!d.attrs.empty()) return d.error("unknown attribute '{}'; it has none", proto::shown(d.attrs[0].name));
  d.results = d.in;
  return {};
}

Status optional_type(Draft& d) {
  const auto found = std::ranges::find(d.attrs, "type", &NamedAttr::name);
  if (found == d.attrs.end()) return {};
  const Type* type = std::get_if<Type>(&found->value);
  if (type == nullptr) return d.error("attribute 'type': expected type, got {}", found->kind());
  const bool sequence = type->kind == Type::Kind::sequence;
  const Type item = sequence ? *type->item : *type;
  if (!item.is_tensor()) return d.unsupported("attribute 'type' must be a tensor or a sequence of tensors");
  d.drop("type");
  d.set("elem_type", std::int64_t{onnx_data_type(item.elem)});
  d.set("sequence", std::int64_t{sequence});
  return {};
}

// ---- arithmetic ----

Status legacy_broadcast(Draft& d) {
  FRAZIL_TRY(const std::int64_t broadcast, d.take_or<std::int64_t>("broadcast", 0));
  FRAZIL_TRY(const auto given, d.take<std::int64_t>("axis"));
  if (broadcast == 0 || !given) return {};
  FRAZIL_TRY(const std::int64_t rank, d.rank(0));
  FRAZIL_TRY(const std::int64_t own, d.rank(1));
  const std::int64_t axis = *given < 0 ? *given + rank : *given;
  if (axis < 0 || axis > rank - own) {
    return d.error("axis {}: an input of rank {} does not fit into one of rank {} there", *given, own, rank);
  }
  std::vector<std::int64_t> axes;
  for (std::int64_t a = own; a < rank - axis; ++a) axes.push_back(a);
  if (axes.empty()) return {};
  FRAZIL_TRY(d.in[1], d.emit("Unsqueeze", {d.in[1], d.ints(axes)}));
  return {};
}

Status prelu_slope(Draft& d) {
  FRAZIL_TRY(const Type slope, d.input(1));
  if (!slope.ranked || slope.rank() != 1 || slope.shape[0] == Dim(1)) return {};
  FRAZIL_TRY(const std::int64_t rank, d.rank(0));
  std::vector<std::int64_t> axes;
  for (std::int64_t a = 1; a < rank - 1; ++a) axes.push_back(a);
  if (axes.empty()) return {};
  FRAZIL_TRY(d.in[1], d.emit("Unsqueeze", {d.in[1], d.ints(axes)}));
  return {};
}

Status gemm_broadcast(Draft& d) {
  d.drop("broadcast");
  return {};
}

Status clip_bounds(Draft& d) {
  FRAZIL_TRY(const auto low, d.take<float>("min"));
  FRAZIL_TRY(const auto high, d.take<float>("max"));
  FRAZIL_TRY(const Type type, d.input(0));
  if (low) d.put(1, d.number(type.elem, *low));
  if (high) d.put(2, d.number(type.elem, *high));
  return {};
}

Status cast_target(Draft& d) {
  constexpr std::string_view names[] = {"FLOAT",  "UINT8",  "INT8",   "UINT16",    "INT16",
                                        "INT32",  "INT64",  "STRING", "BOOL",      "FLOAT16",
                                        "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128"};
  FRAZIL_TRY(const auto to, d.take<std::string>("to"));
  if (!to) return d.error("attribute 'to' is missing");
  const auto* found = std::ranges::find(names, *to);
  if (found == std::end(names)) return d.error("attribute 'to': unknown type '{}'", proto::shown(*to));
  d.set("to", found - names + 1);
  return {};
}

Status selu_defaults(Draft& d) {
  if (!d.has_attr("alpha")) d.set("alpha", 1.6732f);
  if (!d.has_attr("gamma")) d.set("gamma", 1.0507f);
  return {};
}

namespace {

struct Scaling {
  Type type;
  float alpha = 0, beta = 0;
};
Result<Scaling> take_scaling(Draft& d, float alpha, float beta) {
  Scaling s;
  FRAZIL_TRY(s.type, d.input(0));
  FRAZIL_TRY(s.alpha, d.take_or<float>("alpha", alpha));
  FRAZIL_TRY(s.beta, d.take_or<float>("beta", beta));
  return s;
}

/// Replaces the node by alpha * op(beta * x).
Status scaled(Draft& d, std::string_view op, const Scaling& s) {
  FRAZIL_TRY(const Value inner, d.emit("Mul", {d.in[0], d.number(s.type.elem, s.beta)}));
  FRAZIL_TRY(const Value applied, d.emit(op, {inner}));
  return d.become("Mul", {applied, d.number(s.type.elem, s.alpha)});
}

}  // namespace

Status affine(Draft& d) {
  FRAZIL_TRY(const Scaling s, take_scaling(d, 1, 0));
  FRAZIL_TRY(const Value product, d.emit("Mul", {d.in[0], d.number(s.type.elem, s.alpha)}));
  return d.become("Add", {product, d.number(s.type.elem, s.beta)});
}

/// Converts ImageScaler to x * scale + bias[channel] of an image batch.
Status image_scaler(Draft& d) {
  FRAZIL_TRY(const Type type, d.input(0));
  FRAZIL_TRY(const float scale, d.take_or<float>("scale", 1));
  FRAZIL_TRY(const auto bias, d.take<Floats>("bias"));
  FRAZIL_TRY(const Value product, d.emit("Mul", {d.in[0], d.number(type.elem, scale)}));
  if (!bias) {
    d.results = {product};
    return {};
  }
  const Tensor column =
      Tensor::of<float>({static_cast<std::int64_t>(bias->size()), 1, 1}, std::span<const float>(*bias));
  const std::int64_t to = onnx_data_type(type.elem);
  FRAZIL_TRY(const Value added, d.emit("Cast", {d.builder().constant(column).value}, {{"to", AttrValue(to)}}));
  return d.become("Add", {product, added});
}

Status parametric_softplus(Draft& d) {
  FRAZIL_TRY(const Scaling s, take_scaling(d, 1, 1));
  return scaled(d, "Softplus", s);
}

Status scaled_tanh(Draft& d) {
  FRAZIL_TRY(const Scaling s, take_scaling(d, 1, 1));
  return scaled(d, "Tanh", s);
}

}  // namespace frazil::onnx::rules
