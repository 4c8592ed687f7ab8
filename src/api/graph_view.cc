#include <frazil/graph.h>

#include "api/bind.h"
#include "api/type_text.h"
#include "ir/graph/model_info.h"
#include "ir/op/op.h"

namespace frazil::api {
namespace {

const Graph& viewed(const Model& model) { return *Access::impl(model).graph; }

template <class H>
std::vector<std::uint32_t> numbers_of(const std::vector<H>& handles) {
  std::vector<std::uint32_t> numbers;
  for (const H handle : handles) numbers.push_back(handle.id);
  return numbers;
}

void check_number(std::string_view what, std::uint32_t id, std::size_t count) {
  if (id >= count) refuse(frazil::Code::bad_input, "the graph has no {} {}", what, id);
}

Attributes attributes_of(const frazil::Node& node) {
  Attributes attributes;
  const Attrs defaults = default_attrs(*node.op);
  for (const AttrField& field : node.op->attrs.fields) {
    const auto value = field.get(node.attrs.get()), usual = field.get(defaults.get());
    if (value && (field.required || !usual || !same(*value, *usual))) {
      attributes.emplace_back(std::string(field.name), attribute_of(*value));
    }
  }
  return attributes;
}

Annotations::Note note_of(const std::string& subject, const Notes& notes) {
  return {subject, notes.doc, notes.metadata};
}

}  // namespace

GraphView::GraphView(const Model& model) : model_(Access::without_pool(model)) {}

std::vector<std::uint32_t> GraphView::nodes() const {
  std::vector<std::uint32_t> ids;
  for (const NodeId id : viewed(model_).nodes()) ids.push_back(id.id);
  return ids;
}

std::uint32_t GraphView::block_count() const { return static_cast<std::uint32_t>(viewed(model_).block_count()); }
std::uint32_t GraphView::value_count() const { return static_cast<std::uint32_t>(viewed(model_).value_count()); }

GraphView::Node GraphView::node(std::uint32_t id) const {
  const Graph& graph = viewed(model_);
  check_number("node", id, graph.node_count());
  const frazil::Node& node = graph.node(NodeId{id});
  Node made{.name = node.name,
            .text = graph.describe(NodeId{id}),
            .op = std::string(node.op->name),
            .domain = std::string(node.op->domain),
            .event = node.stable,
            .block = node.parent.id,
            .inputs = {},
            .outputs = numbers_of(node.out),
            .bodies = numbers_of(node.blocks),
            .attributes = attributes_of(node),
            .draws = node.op->stateful};
  for (const frazil::Value v : node.in) made.inputs.push_back(v ? std::optional(v.id) : std::nullopt);
  return made;
}

GraphView::Value GraphView::value(std::uint32_t id) const {
  const Graph& graph = viewed(model_);
  check_number("value", id, graph.value_count());
  const frazil::Value v{id};
  Value made{graph.value_name(v), type_text(graph.type(v), graph.scope()), std::nullopt, std::nullopt};
  if (const auto node = graph.producer(v)) made.node = node->id;
  if (const Constant* constant = graph.constant(v)) made.constant = Access::array(constant->tensor);
  return made;
}

GraphView::Block GraphView::block(std::uint32_t id) const {
  const Graph& graph = viewed(model_);
  check_number("block", id, graph.block_count());
  const frazil::Block& block = graph.block(BlockId{id});
  return {block.owner ? std::optional(block.owner.id) : std::nullopt, numbers_of(block.params), numbers_of(block.nodes),
          numbers_of(block.results)};
}

std::optional<std::size_t> GraphView::constant_bytes(std::uint32_t value) const {
  const Graph& graph = viewed(model_);
  check_number("value", value, graph.value_count());
  const Constant* constant = graph.constant(frazil::Value{value});
  return constant == nullptr ? std::nullopt : std::optional(constant->tensor.bytes());
}

Annotations annotations(const Model& model) {
  const Graph& graph = viewed(model);
  Annotations made;
  if (graph.info == nullptr) return made;
  const ModelInfo& info = *graph.info;
  made.opsets = info.opsets;
  made.model = note_of({}, info.model);
  made.graph = note_of({}, info.graph);
  for (const NodeId id : graph.nodes()) {
    const auto found = info.nodes.find(graph.node(id).stable);
    if (found != info.nodes.end()) made.nodes.push_back(note_of(graph.node(id).name, found->second));
  }
  for (const auto& [name, notes] : info.values) made.values.push_back(note_of(name, notes));
  for (const auto& [tensor, parameters] : info.quantization) made.quantization.push_back({tensor, {}, parameters});
  return made;
}

}  // namespace frazil::api
