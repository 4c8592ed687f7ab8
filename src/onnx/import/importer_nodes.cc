#include <algorithm>

#include "ir/op/op_set.h"
#include "onnx/import/attributes.h"
#include "onnx/import/importer.h"
#include "onnx/import/metadata.h"
#include "onnx/import/relax_graph.h"
#include "onnx/import/warn.h"
#include "onnx/upgrade/relax.h"

namespace frazil::onnx {

namespace {

std::string_view shown_domain(std::string_view domain) { return domain.empty() ? "ai.onnx" : domain; }

Status check_node(const NameContext& cx, const NodeParts& node, const LoadLimits& limits) {
  FRAZIL_CHECK(check_name("a node", node.name, limits));
  FRAZIL_CHECK(check_name("an operator", node.op, limits));
  FRAZIL_CHECK(check_name("a domain", node.domain, limits));
  for (const std::string_view name : node.outputs) FRAZIL_CHECK(check_name("a node's output", name, limits));
  if (node.op.empty()) return fail_at(describe(cx, node), Code::bad_model, "it names no operator");
  if (std::ranges::all_of(node.outputs, [](std::string_view name) { return name.empty(); })) {
    return fail_at(describe(cx, node), Code::bad_model, "it has no outputs");
  }
  return {};
}

/// Drops unwanted outputs that the operator lacks from the end.
void trim_outputs(Draft& draft, const OpDef& op) {
  const bool open = !op.outputs.empty() && op.outputs.back().use == Port::Use::variadic;
  while (!open && draft.wanted.size() > op.outputs.size() && !draft.wanted.back()) draft.wanted.pop_back();
}

/// Returns the opset of the node. ImportOptions::newer_opsets accepts opsets that are newer than the newest known one;
/// ImportOptions::lenient takes the newest known one of a domain that is not imported.
Result<std::int64_t> opset_of(const NameContext& cx, const NodeParts& node, const ModelParts& model,
                              const ImportOptions& options, std::vector<std::string>& warnings) {
  const auto newest = newest_opset(node.domain);
  for (const Opsets* opsets : {cx.opsets, static_cast<const Opsets*>(&model.opsets)}) {
    const auto found = opsets->find(node.domain);
    if (found == opsets->end()) continue;
    if (newest && found->second > *newest && !options.newer_opsets) {
      return fail_at(describe(cx, node), Code::unsupported,
                     "opset {} of domain '{}' is newer than {}, the newest this version knows", found->second,
                     shown_domain(node.domain), *newest);
    }
    return found->second;
  }
  if (model.info.ir_version < 3 && node.domain.empty()) return 1;
  if (options.lenient && newest) {
    warn(warnings, "{}: the model imports no opset of domain '{}'; it is read as {}, the newest known one",
         describe(cx, node), proto::shown(shown_domain(node.domain)), *newest);
    return *newest;
  }
  return fail_at(describe(cx, node), Code::bad_model, "the model imports no opset of domain '{}'",
                 proto::shown(shown_domain(node.domain)));
}

Result<const OpDef*> find_op(const Draft& draft, const OpSet* own) {
  if (const OpDef* op = find_operator(own, draft.domain, draft.op)) return op;
  const OpRegistry& registry = OpRegistry::global();
  std::string near;
  for (const OpDef* other : registry.all()) {
    if (other->name == draft.op) near += fmt::format("; domain '{}' has it", shown_domain(other->domain));
  }
  if (near.empty()) {
    for (const std::string_view name : registry.close_to(draft.op))
      near += fmt::format("{}'{}'", near.empty() ? "; similar: " : ", ", name);
  }
  return draft.unsupported(
      "no operator '{}' in domain '{}', opset {}{}; to register a custom operator, see "
      "docs/how-to/adding-an-operator.md",
      proto::shown(draft.op), proto::shown(shown_domain(draft.domain)), draft.opset, near);
}

}  // namespace

Status Importer::append_node(Bytes bytes) {
  FRAZIL_TRY(NodeParts node, read_node(bytes));
  if (++nodes_ > options_.limits.nodes) return NodeOrder::too_many_nodes(options_.limits.nodes);
  const NameContext& cx = *top().cx;
  FRAZIL_CHECK(check_node(cx, node, options_.limits));
  if (const FunctionParts* function = functions_.find(node)) {
    if (!prefers_operator(node)) return open_call(node, *function);
    warn(warnings_, "{}: the model has a function of this name; the operator precedes it", describe(cx, node));
  }
  if (!node.overload.empty()) {
    return fail_at(describe(cx, node), Code::bad_model, "the model has no function of this name and overload '{}'",
                   proto::shown(node.overload));
  }

  FRAZIL_TRY(const std::int64_t opset, opset_of(cx, node, model_, options_, warnings_));
  Builder builder(graph_, top().block);
  Draft draft(builder, node.op, node.domain, opset);
  draft.name = name_of_node(cx, node);
  FRAZIL_TRY(draft.in, resolve_inputs(cx, node));
  for (const std::string_view output : node.outputs) draft.wanted.push_back(!output.empty());
  FRAZIL_TRY(draft.attrs, decode_attributes(source_, cx, node, repeated_));
  const std::size_t first = graph_.node_count();
  const bool is_own = options_.operators != nullptr && options_.operators->find(node.domain, node.op) != nullptr;
  if (!is_own && options_.lenient) FRAZIL_CHECK(relax_form(draft, warnings_));
  if (!is_own) FRAZIL_CHECK(upgrade(draft));
  if (!is_own && options_.lenient) FRAZIL_CHECK(relax(draft, warnings_));
  if (draft.results) {
    const Value first_result = draft.results->empty() ? Value{} : (*draft.results)[0];
    const auto maker = first_result ? graph_.producer(first_result) : std::nullopt;
    if (maker && maker->id >= first) keep_notes(model_.info, graph_, *maker, node.notes);
    return definer_.define_outputs(top(), node.outputs, *draft.results, [&] { return draft.describe(); });
  }
  if (draft.splice)
    return open_splice(std::make_unique<OpenSplice>(std::move(draft.splice), node.outputs, draft.describe()));
  FRAZIL_TRY(const OpDef* op, find_op(draft, options_.operators));
  trim_outputs(draft, *op);
  return std::holds_alternative<Region>(op->form) ? open_region(draft, *op, node) : append_plain(draft, *op, node);
}

bool Importer::prefers_operator(const NodeParts& node) const {
  if (!options_.lenient || !node.overload.empty() || !newest_opset(node.domain)) return false;
  const auto imported = model_.opsets.find(node.domain);
  if (imported == model_.opsets.end()) return false;
  const OpDef* const op = OpRegistry::global().find(node.domain, node.op);
  return has_upgrade(node.domain, node.op) || (op != nullptr && op->since.oldest <= imported->second);
}

Status Importer::append_plain(Draft& draft, const OpDef& op, NodeParts& node) {
  auto attrs = bind_attributes(op, draft.attrs);
  if (!attrs) return at_node(draft.describe(), std::move(attrs).error());
  FRAZIL_TRY(const NodeId id,
             draft.builder().append(op, std::move(draft.in), std::move(*attrs), draft.wanted, draft.name));
  keep_notes(model_.info, graph_, id, node.notes);
  return definer_.define_outputs(top(), node.outputs, graph_.node(id).out, [&] { return draft.describe(); });
}

// ---- regions ----

Status Importer::open_region(Draft& draft, const OpDef& op, NodeParts& node) {
  const auto& form = std::get<Region>(op.form);
  auto region = std::make_unique<OpenRegion>();
  std::vector<std::size_t> params;
  for (const std::string_view attr : form.block_attrs) {
    const auto found = std::ranges::find(draft.attrs, attr, &NamedAttr::name);
    if (found == draft.attrs.end()) return draft.error("attribute '{}' is missing", attr);
    const GraphAttr* graph = std::get_if<GraphAttr>(&found->value);
    if (graph == nullptr) return draft.error("attribute '{}': expected graph, got {}", attr, found->kind());
    FRAZIL_TRY(region->bodies.emplace_back(), read_graph(graph->bytes));
    region->scopes.push_back(graph->scope ? std::static_pointer_cast<NameContext>(graph->scope) : top().cx);
    params.push_back(region->bodies.back().inputs.size());
    draft.attrs.erase(found);
  }
  auto attrs = bind_attributes(op, draft.attrs);
  if (!attrs) return at_node(draft.describe(), std::move(attrs).error());
  region->op = &op;
  region->parent = draft.block;
  region->wanted = draft.wanted;
  region->outputs = node.outputs;
  region->described = draft.describe();
  region->finish = std::move(draft.finish);
  Builder builder(graph_, draft.block);
  FRAZIL_TRY(region->id, builder.open(op, std::move(draft.in), std::move(*attrs), params, draft.name));
  keep_notes(model_.info, graph_, region->id, node.notes);
  return open_block(std::move(region));
}

Status Importer::open_block(std::unique_ptr<OpenRegion> region) {
  const std::shared_ptr<NameContext> cx = region->scopes[region->index];
  Frame frame;
  frame.block = graph_.node(region->id).blocks[region->index];
  frame.body = std::move(region->bodies[region->index]);
  frame.region = std::move(region);
  cx->names.push();
  frame.cx = cx;
  if (options_.lenient) FRAZIL_CHECK(relax_initializers(frame.body, warnings_));
  const Bytes whole = frame.body.whole;
  FRAZIL_CHECK(frames_.push(std::move(frame), whole));
  FRAZIL_CHECK(read_declared(top().body.value_infos, top().declared));
  FRAZIL_CHECK(definer_.define_params(top(), graph_.block(top().block).params));
  return definer_.define_initializers(top());
}

Status Importer::open_splice(std::unique_ptr<OpenSplice> spliced) {
  Splice& splice = *spliced->splice;
  Frame frame;
  FRAZIL_TRY(frame.body, read_graph(splice.graph.bytes));
  if (frame.body.inputs.size() != splice.inputs.size()) {
    return fail(Code::bad_model, "{}, attribute '{}': the subgraph has {} inputs, expected {}", spliced->described,
                splice.attr, frame.body.inputs.size(), splice.inputs.size());
  }
  frame.block = splice.block;
  frame.cx = splice.graph.scope ? std::static_pointer_cast<NameContext>(splice.graph.scope) : top().cx;
  frame.cx->names.push();
  if (options_.lenient) FRAZIL_CHECK(relax_initializers(frame.body, warnings_));
  const std::vector<Value> inputs = splice.inputs;
  frame.spliced = std::move(spliced);
  const Bytes whole = frame.body.whole;
  FRAZIL_CHECK(frames_.push(std::move(frame), whole));
  FRAZIL_CHECK(read_declared(top().body.value_infos, top().declared));
  FRAZIL_CHECK(definer_.define_params(top(), inputs));
  return definer_.define_initializers(top());
}

// ---- functions ----

Status Importer::open_call(const NodeParts& node, const FunctionParts& function) {
  const NameContext& cx = *top().cx;
  FRAZIL_CHECK(functions_.check_call(cx, node, function));
  FRAZIL_CHECK(repeated_.add(function.whole.size()));
  FRAZIL_CHECK(order_.scan(function));
  Frame frame;
  frame.block = top().block;
  frame.call = std::make_unique<OpenCall>(OpenCall{node.outputs, graph_.value_count(), 0, describe(cx, node)});
  frame.cx = std::make_shared<NameContext>();
  frame.cx->opsets = &function.opsets;
  frame.cx->function = &function;
  frame.cx->caller = top().cx;
  const std::string name = name_of_node(cx, node);
  const bool fits = name.size() <= options_.limits.name_bytes;
  frame.cx->prefix = fits ? name + "/" : cx.prefix;
  FRAZIL_TRY(frame.cx->attrs, call_attributes(source_, top().cx, node, function, repeated_));
  FRAZIL_TRY(std::vector<Value> inputs, resolve_inputs(cx, node));
  inputs.resize(function.inputs.size());
  frame.call->number = calls_.begin(
      {name, fits ? &function : nullptr, graph_.node_count(), graph_.node_count(), inputs, {}, node.notes});
  frame.cx->names.push();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    FRAZIL_CHECK(check_name("a function's input", function.inputs[i], options_.limits));
    if (!frame.cx->names.define(function.inputs[i], inputs[i])) {
      return fail_at(describe(cx, node), Code::bad_model, "the function's input '{}' is defined twice",
                     proto::shown(function.inputs[i]));
    }
  }
  FRAZIL_CHECK(frames_.push(std::move(frame), function.whole, kFunctionNode));
  return read_declared(function.value_infos, top().declared);
}

}  // namespace frazil::onnx
