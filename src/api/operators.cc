#include <frazil/operators.h>

#include "api/bind.h"
#include "api/host_call.h"
#include "api/used_operators.h"
#include "base/os/io.h"
#include "ir/op/op.h"
#include "onnx/import/used_operators.h"
#include "pass/engine/passes.h"
#include "pass/engine/rules.h"

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

OperatorInfo info_of(const OpDef& op) {
  OperatorInfo info{.name = std::string(op.name), .domain = std::string(op.domain), .doc = std::string(op.doc)};
  info.since = op.since.newest;
  info.oldest = op.since.oldest;
  info.form = form_name(op.form);
  for (const frazil::Port& port : op.inputs) info.inputs.push_back(port_of(port));
  for (const frazil::Port& port : op.outputs) info.outputs.push_back(port_of(port));
  const Attrs defaults = default_attrs(op);
  for (const AttrField& field : op.attrs.fields) {
    OperatorInfo::Field to{std::string(field.name), static_cast<OperatorInfo::Kind>(field.kind), field.required,
                           std::nullopt, std::string(field.doc)};
    auto value = field.required ? std::nullopt : field.get(defaults.get());
    const auto* tensor = value ? std::get_if<Tensor>(&*value) : nullptr;
    if (value && (tensor == nullptr || tensor->defined())) to.value = attribute_of(*value);
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

std::vector<UsedOperator> used_operators(std::span<const std::byte> content) {
  std::vector<UsedOperator> all;
  for (onnx::UsedOperator& op : take(onnx::used_operators(content))) {
    all.push_back({std::move(op.name), std::move(op.domain), op.opset, op.nodes, op.known});
  }
  return all;
}

std::vector<UsedOperator> used_operators(const std::string& path) {
  start();
  const auto file = take(MappedFile::open(path));
  auto found = called([&] { return used_operators(file->bytes()); });
  if (!found) raise(within(path + ": ", std::move(found).error()).error());
  return std::move(*found);
}

std::string_view name_of(OperatorInfo::Kind kind) {
  if (kind > OperatorInfo::Kind::tensor) refuse(frazil::Code::bad_input, "there is no kind {}", static_cast<int>(kind));
  return frazil::name_of(static_cast<AttrKind>(kind));
}

std::vector<PassInfo> passes() {
  std::vector<PassInfo> all;
  for (const pass::PassRow& row : pass::pass_list()) {
    all.push_back({std::string(row.name), std::string(row.what), row.pass.has_value()});
  }
  return all;
}

std::vector<RuleInfo> rewrite_rules() {
  std::vector<RuleInfo> all;
  for (const pass::Rule* rule : pass::all_rules()) {
    all.push_back({std::string(rule->name), std::string(rule->what), std::string(name_of(rule->numerics))});
  }
  return all;
}

}  // namespace frazil::api
