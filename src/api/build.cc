#include <algorithm>

#include <frazil/build.h>

#include "api/access.h"
#include "api/bind.h"
#include "ir/op/op.h"

namespace frazil::api {
namespace {

class InnerBody : public Body {
 public:
  explicit InnerBody(std::unique_ptr<Impl> impl) : Body(std::move(impl)) {}
};

std::string describe(const OpDef& op, std::string_view name) {
  return name.empty() ? std::string(op.name) : fmt::format("node '{}' ({})", name, op.name);
}

bool encloses(const Graph& graph, BlockId outer, BlockId inner) {
  for (BlockId b = inner; b; b = graph.block(b).parent) {
    if (b == outer) return true;
  }
  return false;
}

}  // namespace

const OpDef& find_op(std::string_view name, const OpSet* own) {
  const std::size_t dot = name.rfind('.');
  const std::string_view domain = dot == std::string_view::npos ? "" : name.substr(0, dot);
  const std::string_view plain = dot == std::string_view::npos ? name : name.substr(dot + 1);
  if (const OpDef* op = find_operator(own, domain, plain)) return *op;
  std::string near;
  for (const std::string_view close : OpRegistry::global().close_to(plain)) {
    near += fmt::format("{}'{}'", near.empty() ? "; similar: " : ", ", close);
  }
  refuse(frazil::Code::unsupported, "no operator '{}'{}", name, near);
}

Builder& Body::Impl::to() const {
  if (builder == nullptr) refuse(frazil::Code::bad_input, "the patch has been committed: make a new one");
  return *builder;
}

Value Access::value(const Body::Impl& body, const Term& term) {
  if (!term) return {};
  Builder& to = body.to();
  if (term.owner_ != &to.graph() || term.id_ >= to.graph().value_count()) {
    refuse(frazil::Code::bad_input, "a term belongs to another graph or patch");
  }
  const Value value{term.id_};
  const auto block = to.graph().block_of(value);
  if (block && block->id >= body.old_blocks && !encloses(to.graph(), *block, to.block())) {
    refuse(frazil::Code::bad_input, "a term is used outside of its body");
  }
  return value;
}

Term Access::term(const Builder& builder, Value value) {
  Term term;
  if (!value) return term;
  term.owner_ = &const_cast<Builder&>(builder).graph();
  term.id_ = value.id;
  return term;
}

void Access::fill(Body::Impl& outer, NodeId region, std::size_t index, const Body::Fill& fill) {
  if (!fill) refuse(frazil::Code::bad_input, "there is no function that fills body {}", index);
  Graph& graph = outer.to().graph();
  const BlockId block = graph.node(region).blocks[index];
  auto impl = std::make_unique<Body::Impl>();
  impl->own = std::make_unique<Builder>(graph, block);
  impl->builder = impl->own.get();
  impl->old_blocks = outer.old_blocks;
  impl->operators = outer.operators;
  Builder& inner = *impl->own;
  const Body::Impl& place = *impl;
  InnerBody body(std::move(impl));
  std::vector<Term> params;
  for (const Value v : graph.block(block).params) params.push_back(term(inner, v));
  std::vector<Value> results;
  for (const Term& result : fill(body, params)) {
    results.push_back(value(place, result));
    if (!results.back()) refuse(frazil::Code::bad_input, "a body returns an absent term");
  }
  outer.to().yield(region, index, std::move(results));
}

Body::Body(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Body::~Body() = default;

Term Body::constant(const Array& value, std::string_view name) {
  if (!value.is_tensor()) refuse(frazil::Code::bad_input, "a constant must be a tensor");
  return Access::term(impl_->to(), impl_->to().constant(Access::dense(value).tensor(), name).value);
}

Term Body::op(std::string_view op, const std::vector<Term>& inputs, const Attributes& attributes,
              std::string_view name) {
  return ops(op, inputs, attributes, 1, name)[0];
}

std::vector<Term> Body::ops(std::string_view op, const std::vector<Term>& inputs, const Attributes& attributes,
                            std::size_t outputs, std::string_view name) {
  Builder& to = impl_->to();
  const OpDef& def = find_op(op, impl_->operators.get());
  if (std::holds_alternative<frazil::Region>(def.form)) {
    refuse(frazil::Code::bad_input, "{} has bodies: use Body::region", describe(def, name));
  }
  std::vector<Value> in;
  for (const Term& term : inputs) in.push_back(Access::value(*impl_, term));
  Attrs attrs = bind_attributes(def, attributes, describe(def, name));
  const NodeId id =
      take(to.append(def, std::move(in), std::move(attrs), std::vector<bool>(outputs, true), std::string(name)));
  return name_results(to, id, name);
}

std::vector<Term> Body::region(std::string_view op, const std::vector<Term>& inputs, const std::vector<Region>& regions,
                               const Attributes& attributes, std::size_t outputs, std::string_view name) {
  Builder& to = impl_->to();
  const OpDef& def = find_op(op, impl_->operators.get());
  const std::string what = describe(def, name);
  std::vector<Value> in;
  for (const Term& term : inputs) in.push_back(Access::value(*impl_, term));
  check_region(to.graph(), def, in, regions.size(), what);
  std::vector<std::size_t> params;
  for (const Region& region : regions) params.push_back(region.params);
  Attrs attrs = bind_attributes(def, attributes, what);

  const Builder::Mark mark = to.mark();
  try {
    const NodeId id = take(to.open(def, std::move(in), std::move(attrs), params, std::string(name)));
    for (std::size_t k = 0; k < regions.size(); ++k) Access::fill(*impl_, id, k, regions[k].fill);
    if (outputs == kAll) outputs = regions.empty() ? 0 : to.graph().block(to.graph().node(id).blocks[0]).results.size();
    check(to.close(id, std::vector<bool>(outputs, true)));
    return name_results(to, id, name);
  } catch (...) {
    to.rollback(mark);
    throw;
  }
}

std::string Body::type(Term term) const {
  const Graph& graph = impl_->to().graph();
  const Value value = Access::value(*impl_, term);
  return value ? str(graph.type(value), graph.scope()) : "none";
}

GraphBuilder::GraphBuilder(std::string_view name) : Body(std::make_unique<Impl>()) {
  start();
  impl_->graph = std::make_unique<Graph>();
  impl_->graph->name = name;
  impl_->own = std::make_unique<Builder>(*impl_->graph);
  impl_->builder = impl_->own.get();
}

Term Access::input(Body::Impl& body, std::string_view name, Dtype dtype, const std::vector<Extent>* dims) {
  Builder& to = body.to();
  if (name.empty()) refuse(frazil::Code::bad_model, "an input needs a name");
  if (std::ranges::find(to.graph().input_names(), name) != to.graph().input_names().end()) {
    refuse(frazil::Code::bad_model, "input '{}' is defined already", name);
  }
  if (dtype > Dtype::u2) refuse(frazil::Code::bad_model, "input '{}' has no element type", name);
  const Elem elem = static_cast<Elem>(dtype);
  if (dims == nullptr) return term(to, to.input(name, Type::unranked(elem)).value);
  Shape shape;
  for (const Extent& extent : *dims) {
    if (const auto* number = std::get_if<std::int64_t>(&content(extent))) {
      if (*number < 0) refuse(frazil::Code::bad_model, "input '{}': extent {} is negative", name, *number);
      shape.push_back(*number);
    } else {
      shape.push_back(to.dim(std::get<std::string>(content(extent))));
    }
  }
  return term(to, to.input(name, Type::tensor(elem, std::move(shape))).value);
}

Term GraphBuilder::input(std::string_view name, Dtype dtype, const std::vector<Extent>& dims) {
  return Access::input(*impl_, name, dtype, &dims);
}

Term GraphBuilder::input(std::string_view name, Dtype dtype) { return Access::input(*impl_, name, dtype, nullptr); }

Expr Access::output(Body::Impl& body, std::string_view name, const Term& value) {
  Builder& to = body.to();
  if (name.empty()) refuse(frazil::Code::bad_model, "an output needs a name");
  const auto& names = to.graph().output_names();
  if (std::ranges::find(names, name) != names.end()) {
    refuse(frazil::Code::bad_model, "output '{}' is defined already", name);
  }
  const Expr made(body.builder, Access::value(body, value));
  if (!made) refuse(frazil::Code::bad_input, "output '{}' is an absent term", name);
  to.output(name, made);
  return made;
}

void GraphBuilder::output(std::string_view name, Term value) {
  const Expr expr = Access::output(*impl_, name, value);
  Builder& to = impl_->to();
  if (to.graph().value_name(expr.value).empty()) to.name_value(expr.value, name);
}

Model GraphBuilder::build(const LoadOptions& options) const {
  Graph copy = impl_->to().graph();
  return Access::model(std::move(copy), inherited(options, bounds_of(options)), options.check_calls);
}

}  // namespace frazil::api
