#include <frazil/operators.h>

#include "api/access.h"
#include "ir/op/op.h"

namespace frazil::api {
namespace {

static_assert(static_cast<int>(OperatorInfo::Use::variadic) == static_cast<int>(frazil::Port::Use::variadic));
static_assert(static_cast<int>(OperatorInfo::Kind::tensor) == static_cast<int>(AttrKind::tensor));

OperatorInfo::Port port_of(const frazil::Port& port) {
  OperatorInfo::Port info{std::string(port.name), std::string(port.var), {}, static_cast<OperatorInfo::Use>(port.use)};
  for (int e = 0; e < kElemCount; ++e) {
    if (contains(port.set, static_cast<Elem>(e))) info.types.push_back(static_cast<Dtype>(e));
  }
  return info;
}

Attribute attribute_of(AttrValue value) {
  return std::visit(
      [](auto& v) -> Attribute {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(v)>, Tensor>) {
          return Access::array(Datum(v));
        } else {
          return std::move(v);
        }
      },
      value);
}

OperatorInfo info_of(const OpDef& op) {
  OperatorInfo info{.name = std::string(op.name), .domain = std::string(op.domain), .doc = std::string(op.doc)};
  info.since = op.since.newest;
  for (const frazil::Port& port : op.inputs) info.inputs.push_back(port_of(port));
  for (const frazil::Port& port : op.outputs) info.outputs.push_back(port_of(port));
  const Attrs defaults = default_attrs(op);
  for (const AttrField& field : op.attrs.fields) {
    OperatorInfo::Field to{std::string(field.name), static_cast<OperatorInfo::Kind>(field.kind), field.required,
                           std::nullopt, std::string(field.doc)};
    auto value = field.required ? std::nullopt : field.get(defaults.get());
    const auto* tensor = value ? std::get_if<Tensor>(&*value) : nullptr;
    if (value && (tensor == nullptr || tensor->defined())) to.value = attribute_of(std::move(*value));
    info.attributes.push_back(std::move(to));
  }
  if (const auto* region = std::get_if<frazil::Region>(&op.form)) {
    info.bodies.assign(region->block_attrs.begin(), region->block_attrs.end());
  }
  return info;
}

}  // namespace

std::vector<OperatorInfo> operators() {
  start();
  std::vector<OperatorInfo> all;
  for (const OpDef* op : OpRegistry::global().all()) all.push_back(info_of(*op));
  return all;
}

}  // namespace frazil::api
