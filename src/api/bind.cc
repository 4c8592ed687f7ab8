#include "api/bind.h"

#include <algorithm>

#include "ir/op/op.h"

namespace frazil::api {
namespace {

/// Returns the value in the kind of the field, if the conversion keeps its meaning.
AttrValue fitted(const AttrField& field, AttrValue value) {
  if (field.kind == AttrKind::real) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<float>(*integer);
  }
  if (field.kind == AttrKind::reals) {
    if (const auto* integers = std::get_if<Ints>(&value)) return Floats(integers->begin(), integers->end());
  }
  return value;
}

std::string known_names(const OpDef& op) {
  std::string text;
  for (const AttrField& field : op.attrs.fields) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", field.name);
  return text.empty() ? "it has none" : "it has " + text;
}

}  // namespace

AttrValue Access::attribute(const Attribute& attribute) {
  return std::visit(
      [](const auto& v) -> AttrValue {
        if constexpr (std::is_same_v<decltype(v), const Array&>) {
          if (!v.is_tensor()) refuse(frazil::Code::bad_input, "an attribute's value must be a tensor, got {}", v.str());
          return Access::dense(v).tensor();
        } else {
          return v;
        }
      },
      attribute.value());
}

AttrValue fitted_attribute(const OpDef& op, std::string_view name, const Attribute& value) {
  const AttrField* field = op.attrs.find(name);
  AttrValue plain = Access::attribute(value);
  return field == nullptr ? plain : fitted(*field, std::move(plain));
}

Attrs bind_attributes(const OpDef& op, const Attributes& given, const std::string& what) {
  const std::shared_ptr<void> attrs = op.attrs.make();
  for (auto at = given.begin(); at != given.end(); ++at) {
    const auto& [name, attribute] = *at;
    if (std::ranges::find(at + 1, given.end(), name, &Attributes::value_type::first) != given.end()) {
      refuse(frazil::Code::bad_model, "{}: attribute '{}' is given twice", what, name);
    }
    const AttrField* field = op.attrs.find(name);
    if (field == nullptr) {
      refuse(frazil::Code::bad_model, "{}: unknown attribute '{}'; {}", what, name, known_names(op));
    }
    auto set = field->set(attrs.get(), fitted(*field, Access::attribute(attribute)));
    if (!set) raise(within(what + ": ", std::move(set).error()).error());
  }
  for (const AttrField& field : op.attrs.fields) {
    const auto is_it = [&](const auto& pair) { return pair.first == field.name; };
    if (field.required && std::ranges::none_of(given, is_it)) {
      refuse(frazil::Code::bad_model, "{}: attribute '{}' is missing", what, field.name);
    }
  }
  return attrs;
}

Attribute attribute_of(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> Attribute {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(v)>, Tensor>) {
          return Access::array(Datum(v));
        } else {
          return v;
        }
      },
      value);
}

void check_region(const Graph& graph, const OpDef& op, const std::vector<Value>& inputs, std::size_t bodies,
                  const std::string& what) {
  const auto* form = std::get_if<frazil::Region>(&op.form);
  if (form == nullptr) refuse(frazil::Code::bad_input, "{} has no bodies: use Body::op", what);
  if (bodies != form->blocks) {
    refuse(frazil::Code::bad_input, "{} takes {} bodies, got {}", what, form->blocks, bodies);
  }
  const bool open = !op.inputs.empty() && op.inputs.back().use == frazil::Port::Use::variadic;
  if (inputs.size() > op.inputs.size() && !open) {
    refuse(frazil::Code::bad_model, "{}: takes at most {} inputs, got {}", what, op.inputs.size(), inputs.size());
  }
  for (std::size_t i = 0; i < std::max(inputs.size(), op.inputs.size()) && !op.inputs.empty(); ++i) {
    const frazil::Port& port = op.inputs[std::min(i, op.inputs.size() - 1)];
    const bool given = i < inputs.size() && inputs[i];
    const bool needed =
        port.use == frazil::Port::Use::variadic ? i < inputs.size() : port.use == frazil::Port::Use::required;
    if (!given && needed) refuse(frazil::Code::bad_model, "{}: input {} ('{}') is missing", what, i, port.name);
    if (!given || port.set == 0) continue;
    const Type& type = graph.type(inputs[i]);
    if (!type.is_tensor() || !contains(port.set, type.elem)) {
      refuse(frazil::Code::bad_model, "{}: input '{}' cannot be {}", what, port.name, str(type, graph.scope()));
    }
  }
}

std::vector<Term> name_results(Builder& builder, NodeId node, std::string_view name) {
  std::vector<Term> terms;
  const std::vector<Value> out = builder.graph().node(node).out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!name.empty()) builder.name_value(out[i], out.size() == 1 ? std::string(name) : fmt::format("{}.{}", name, i));
    terms.push_back(Access::term(builder, out[i]));
  }
  return terms;
}

}  // namespace frazil::api
