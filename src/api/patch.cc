#include "ir/edit/patch.h"

#include <algorithm>

#include <frazil/build.h>

#include "api/access.h"
#include "api/bind.h"
#include "ir/op/op.h"

namespace frazil::api {
namespace {

const Graph& graph_of(const Model& model) { return *Access::impl(model).graph; }

/// Returns a new name such as "relu#1" for the value that was "relu" before a patch.
std::string unused_name(const Names& names, const std::string& name) {
  for (int number = 1;; ++number) {
    std::string candidate = fmt::format("{}#{}", name, number);
    if (!names.has_value(candidate)) return candidate;
  }
}

}  // namespace

Patch::Patch(const Model& model, std::string_view name) : Body(std::make_unique<Impl>()) {
  impl_->model = model;
  impl_->operators = Access::impl(model).operators;
  impl_->patch = std::make_unique<frazil::Patch>(graph_of(model), std::string(name));
  impl_->builder = &impl_->patch->build();
  impl_->names = std::make_unique<Names>(graph_of(model));
  impl_->old_blocks = graph_of(model).block_count();
}

Term Patch::tap(std::string_view value) {
  Builder& to = impl_->to();
  return Access::term(to, impl_->patch->tap(take(impl_->names->value(value))).value);
}

Term Patch::input(std::string_view name, Dtype dtype, const std::vector<Extent>& dims) {
  return Access::input(*impl_, name, dtype, &dims);
}

void Patch::replace(std::string_view value, Term with) {
  const Expr expr(impl_->builder, Access::value(*impl_, with));
  const Graph& graph = graph_of(*impl_->model);
  const Value old = take(impl_->names->value(value));
  impl_->patch->replace(old, expr);
  check(impl_->patch->status());
  if (!graph.value_name(old).empty() && graph.producer(old)) {
    impl_->patch->rename(old, unused_name(*impl_->names, graph.value_name(old)));
  }
}

std::vector<Term> Patch::wrap(const std::vector<std::string>& outputs, Term condition, const Side& otherwise,
                              const std::vector<std::string>& inputs, std::string_view name) {
  if (outputs.empty()) refuse(frazil::Code::bad_input, "wrap() takes the names of one value or more");
  std::vector<Term> wrapped;
  for (const std::string& output : outputs) wrapped.push_back(tap(output));
  std::vector<Value> keep;
  for (const std::string& input : inputs) keep.push_back(Access::value(*impl_, tap(input)));
  const std::string given = name.empty() ? "If_" + outputs.front() : std::string(name);
  std::vector<Term> results = if_else(condition, [&](Body&) { return wrapped; }, otherwise, given);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Value result = Access::value(*impl_, results[k]);
    impl_->to().name_value(result, "");  // replace() names it after the value that it replaces
    if (k == 0) impl_->patch->sink(*impl_->to().graph().producer(result), 0, keep);
    replace(outputs[k], results[k]);
  }
  return results;
}

void Patch::remove(std::string_view node) {
  impl_->to();
  impl_->patch->remove(take(impl_->names->node(node)));
  check(impl_->patch->status());
}

void Patch::set_attribute(std::string_view node, std::string_view attribute, const Attribute& value) {
  impl_->to();
  const Graph& graph = graph_of(*impl_->model);
  const NodeId id = take(impl_->names->node(node));
  impl_->patch->set_attribute(id, attribute, fitted_attribute(*graph.node(id).op, attribute, value));
  check(impl_->patch->status());
}

void Patch::add_output(std::string_view name, Term value) { Access::output(*impl_, name, value); }

void Patch::remove_output(std::string_view name) {
  impl_->to();
  impl_->patch->remove_graph_output(name);
  check(impl_->patch->status());
}

const Model& Access::edited_by(const Patch& patch) {
  patch.impl_->to();
  return *patch.impl_->model;
}

std::string Access::describe(const Patch& patch) {
  patch.impl_->to();
  return patch.impl_->patch->str();
}

Model Patch::commit() { return Access::commit(*this, nullptr, 0); }

Model Access::commit(Patch& patch, const VersionNote* note, std::uint64_t version) {
  Body::Impl& body = *patch.impl_;
  body.to();
  const auto changes = std::exchange(body.patch, nullptr);
  body.builder = nullptr;
  const Model::Impl& from = impl(*body.model);
  Graph graph = take(std::move(*changes).commit());
  check_calls(graph, from.registry);
  Model edited = derived(std::move(graph), from);
  from.policies.check_change({Change::Kind::edit, *body.model, edited, note, version});
  return edited;
}

}  // namespace frazil::api
