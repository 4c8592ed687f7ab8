#include <algorithm>
#include <unordered_set>

#include "onnx/import/importer.h"

namespace frazil::onnx {

namespace {

std::string_view shown_domain(std::string_view domain) { return domain.empty() ? "ai.onnx" : domain; }

}  // namespace

Status Importer::append_node(Bytes bytes) {
  FRAZIL_TRY(NodeParts node, read_node(bytes));
  if (++nodes_ > options_.limits.nodes) return NodeOrder::too_many_nodes(options_.limits.nodes);
  FRAZIL_CHECK(check_node(node));
  const auto function = functions_.find({node.domain, node.op, node.overload});
  if (function != functions_.end()) return open_call(node, *function->second);
  if (!node.overload.empty()) {
    return fail_at(describe(node), Code::bad_model, "the model has no function of this name and overload '{}'",
                   proto::shown(node.overload));
  }

  FRAZIL_TRY(const std::int64_t opset, opset_of(node));
  Builder builder(graph_, top().block);
  Draft draft(builder, node.op, node.domain, opset);
  draft.name = name_of_node(node);
  FRAZIL_TRY(draft.in, resolve_inputs(node));
  for (const std::string_view output : node.outputs) draft.wanted.push_back(!output.empty());
  FRAZIL_TRY(draft.attrs, decode_attributes(node));
  const std::size_t first = graph_.node_count();
  FRAZIL_CHECK(upgrade(draft));
  if (draft.results) {
    const Value first_result = draft.results->empty() ? Value{} : (*draft.results)[0];
    const auto maker = first_result ? graph_.producer(first_result) : std::nullopt;
    if (maker && maker->id >= first) keep_notes(node, *maker);
    return define_outputs(node.outputs, *draft.results, [&] { return draft.describe(); });
  }
  if (draft.splice)
    return open_splice(std::make_unique<OpenSplice>(std::move(draft.splice), node.outputs, draft.describe()));
  FRAZIL_TRY(const OpDef* op, find_op(draft));
  trim_outputs(draft, *op);
  return std::holds_alternative<Region>(op->form) ? open_region(draft, *op, node) : append_plain(draft, *op, node);
}

Status Importer::check_node(const NodeParts& node) const {
  FRAZIL_CHECK(check_name("a node", node.name));
  FRAZIL_CHECK(check_name("an operator", node.op));
  FRAZIL_CHECK(check_name("a domain", node.domain));
  for (const std::string_view name : node.outputs) FRAZIL_CHECK(check_name("a node's output", name));
  if (node.op.empty()) return fail_at(describe(node), Code::bad_model, "it names no operator");
  if (std::ranges::all_of(node.outputs, [](std::string_view name) { return name.empty(); })) {
    return fail_at(describe(node), Code::bad_model, "it has no outputs");
  }
  return {};
}

void Importer::trim_outputs(Draft& draft, const OpDef& op) {
  const bool open = !op.outputs.empty() && op.outputs.back().use == Port::Use::variadic;
  while (!open && draft.wanted.size() > op.outputs.size() && !draft.wanted.back()) draft.wanted.pop_back();
}

Result<std::int64_t> Importer::opset_of(const NodeParts& node) const {
  for (const Opsets* opsets : {top().cx->opsets, static_cast<const Opsets*>(&model_.opsets)}) {
    const auto found = opsets->find(node.domain);
    if (found == opsets->end()) continue;
    const auto newest = newest_opset(node.domain);
    if (newest && found->second > *newest && !options_.newer_opsets) {
      return fail_at(describe(node), Code::unsupported,
                     "opset {} of domain '{}' is newer than {}, the newest this version knows", found->second,
                     shown_domain(node.domain), *newest);
    }
    return found->second;
  }
  if (model_.info.ir_version < 3 && node.domain.empty()) return 1;
  return fail_at(describe(node), Code::bad_model, "the model imports no opset of domain '{}'",
                 proto::shown(shown_domain(node.domain)));
}

Result<const OpDef*> Importer::find_op(const Draft& draft) const {
  const OpRegistry& registry = OpRegistry::global();
  if (const OpDef* op = registry.find(draft.domain, draft.op)) return op;
  std::string near;
  for (const OpDef* other : registry.all()) {
    if (other->name == draft.op) near += fmt::format("; domain '{}' has it", shown_domain(other->domain));
  }
  if (near.empty()) {
    for (const std::string_view name : registry.close_to(draft.op))
      near += fmt::format("{}'{}'", near.empty() ? "; similar: " : ", ", name);
  }
  return draft.unsupported(
      "no operator '{}' in domain '{}', opset {}{}; to register a custom operator, see docs/adding-an-operator.md",
      proto::shown(draft.op), proto::shown(shown_domain(draft.domain)), draft.opset, near);
}

Result<std::vector<NamedAttr>> Importer::decode_attributes(const NodeParts& node) {
  std::vector<NamedAttr> attrs;
  std::unordered_set<std::string_view> names;
  const Context& cx = *top().cx;
  for (const Bytes bytes : node.attributes) {
    auto read = read_attribute(source_, bytes);
    if (!read) return at_node(describe(node), std::move(read).error());
    const std::string_view name = read->attr.name;
    if (!names.insert(name).second) {
      return fail_at(describe(node), Code::bad_model, "attribute '{}' is given twice", proto::shown(name));
    }
    if (read->ref.empty()) {
      attrs.push_back(std::move(read->attr));
      continue;
    }
    if (cx.function == nullptr) {
      return fail_at(describe(node), Code::bad_model,
                     "attribute '{}' refers to a function's attribute outside of a function", proto::shown(name));
    }
    const auto given = cx.attrs.find(read->ref);
    if (given == cx.attrs.end()) continue;
    FRAZIL_CHECK(read_again(given->second.bytes()));
    attrs.push_back({name, given->second.value});
  }
  return attrs;
}

Status Importer::append_plain(Draft& draft, const OpDef& op, NodeParts& node) {
  auto attrs = bind_attributes(op, draft.attrs);
  if (!attrs) return at_node(draft.describe(), std::move(attrs).error());
  FRAZIL_TRY(const NodeId id,
             draft.builder().append(op, std::move(draft.in), std::move(*attrs), draft.wanted, draft.name));
  keep_notes(node, id);
  return define_outputs(node.outputs, graph_.node(id).out, [&] { return draft.describe(); });
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
    region->scopes.push_back(graph->scope ? std::static_pointer_cast<Context>(graph->scope) : top().cx);
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
  keep_notes(node, region->id);
  return open_block(std::move(region));
}

Status Importer::open_block(std::unique_ptr<OpenRegion> region) {
  const std::shared_ptr<Context> cx = region->scopes[region->index];
  Frame frame;
  frame.block = graph_.node(region->id).blocks[region->index];
  frame.body = std::move(region->bodies[region->index]);
  frame.region = std::move(region);
  cx->names.push();
  frame.cx = cx;
  const Bytes whole = frame.body.whole;
  FRAZIL_CHECK(push_frame(std::move(frame), whole));
  FRAZIL_CHECK(read_said(top().body.value_infos));
  FRAZIL_CHECK(define_params(graph_.block(top().block).params));
  return define_initializers();
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
  frame.cx = splice.graph.scope ? std::static_pointer_cast<Context>(splice.graph.scope) : top().cx;
  frame.cx->names.push();
  const std::vector<Value> inputs = splice.inputs;
  frame.spliced = std::move(spliced);
  const Bytes whole = frame.body.whole;
  FRAZIL_CHECK(push_frame(std::move(frame), whole));
  FRAZIL_CHECK(read_said(top().body.value_infos));
  FRAZIL_CHECK(define_params(inputs));
  return define_initializers();
}

// ---- functions ----

Result<std::map<std::string_view, NamedAttr>> Importer::call_attributes(const NodeParts& node,
                                                                        const FunctionParts& function) {
  FRAZIL_TRY(std::vector<NamedAttr> given, decode_attributes(node));
  std::map<std::string_view, NamedAttr> attrs;
  for (const Bytes bytes : function.defaults) {
    auto read = read_attribute(source_, bytes);
    if (!read) return at_node(describe(node), std::move(read).error());
    attrs.try_emplace(read->attr.name, std::move(read->attr));
  }
  const std::unordered_set<std::string_view> known(function.attributes.begin(), function.attributes.end());
  for (NamedAttr& attr : given) {
    if (!known.contains(attr.name) && !attrs.contains(attr.name)) {
      return fail_at(describe(node), Code::bad_model, "the function has no attribute '{}'", proto::shown(attr.name));
    }
    auto* graph = std::get_if<GraphAttr>(&attr.value);
    if (graph != nullptr && !graph->scope) graph->scope = top().cx;
    attrs.insert_or_assign(attr.name, std::move(attr));
  }
  return attrs;
}

Status Importer::check_recursion(const NodeParts& node, const FunctionParts& function) const {
  std::vector<std::string_view> through;  // from the innermost function out
  const Context* cx = top().cx.get();
  for (; cx != nullptr && cx->function != nullptr && cx->function != &function; cx = cx->caller.get()) {
    through.push_back(cx->function->name);
  }
  if (cx == nullptr || cx->function == nullptr) return {};
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(through.size(), kShown); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? " through " : ", ", proto::shown(through[through.size() - 1 - i]));
  }
  if (through.size() > kShown) text += fmt::format(" and {} more", through.size() - kShown);
  return fail_at(describe(node), Code::bad_model, "function '{}' calls itself{}", proto::shown(function.name), text);
}

Status Importer::check_call(const NodeParts& node, const FunctionParts& function) {
  const auto [ended, first] = ended_.try_emplace(&function, false);
  if (!first && !ended->second) FRAZIL_CHECK(check_recursion(node, function));
  if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    return fail_at(describe(node), Code::bad_model, "the function has {} inputs and {} outputs, the call has {} and {}",
                   function.inputs.size(), function.outputs.size(), node.inputs.size(), node.outputs.size());
  }
  return {};
}

Status Importer::read_again(std::size_t bytes) {
  read_again_ += bytes;
  if (read_again_ <= most_read_again_) return {};
  return fail(Code::limit,
              "calls of functions read or copy more than {} bytes, the most for a file of this size; what a function "
              "holds counts once per call",
              most_read_again_);
}

Status Importer::open_call(const NodeParts& node, const FunctionParts& function) {
  FRAZIL_CHECK(check_call(node, function));
  FRAZIL_CHECK(read_again(function.whole.size()));
  FRAZIL_CHECK(order_.scan(function));
  Frame frame;
  frame.block = top().block;
  frame.call = std::make_unique<OpenCall>(
      OpenCall{node.outputs, graph_.value_count(), graph_.node_count(), calls_.size(), describe(node)});
  frame.cx = std::make_shared<Context>();
  frame.cx->opsets = &function.opsets;
  frame.cx->function = &function;
  frame.cx->caller = top().cx;
  const std::string name = name_of_node(node);
  const bool fits = name.size() <= options_.limits.name_bytes;
  frame.cx->prefix = fits ? name + "/" : top().cx->prefix;
  FRAZIL_TRY(frame.cx->attrs, call_attributes(node, function));
  FRAZIL_TRY(std::vector<Value> inputs, resolve_inputs(node));
  inputs.resize(function.inputs.size());
  count_graph_bytes(sizeof(Call) + 3 * name.size() + inputs.size() * sizeof(Value));
  calls_.push_back(
      {name, fits ? &function : nullptr, graph_.node_count(), graph_.node_count(), inputs, {}, node.notes});
  frame.cx->names.push();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    FRAZIL_CHECK(check_name("a function's input", function.inputs[i]));
    if (!frame.cx->names.define(function.inputs[i], inputs[i])) {
      return fail_at(describe(node), Code::bad_model, "the function's input '{}' is defined twice",
                     proto::shown(function.inputs[i]));
    }
  }
  FRAZIL_CHECK(push_frame(std::move(frame), function.whole, kFunctionNode));
  return read_said(function.value_infos);
}

}  // namespace frazil::onnx
