#include "ir/edit/graph_writer.h"

#include <algorithm>

#include "base/limits/load_scope.h"
#include "ir/infer/infer.h"
#include "ir/infer/known_value.h"
#include "ir/op/op.h"

namespace frazil {

Value GraphWriter::add_value(Type type, ValueDef def) const {
  count_graph_bytes(sizeof(GraphTables::ValueRow) + type.shape.size() * sizeof(Dim));
  tables_.values.push_back({.type = std::move(type), .name = {}, .def = def, .known = {}, .read = {}});
  return {static_cast<std::uint32_t>(tables_.values.size() - 1)};
}

Value GraphWriter::add_input(std::string_view name, Type type, Tensor default_value) const {
  std::vector<Value>& params = tables_.blocks[0].params;
  const Value v = add_value(std::move(type), {ValueDef::Kind::param, 0, static_cast<std::uint32_t>(params.size())});
  params.push_back(v);
  tables_.input_names.emplace_back(name);
  tables_.input_defaults.push_back(std::move(default_value));
  value(v).name = name;
  return v;
}

Value GraphWriter::add_constant(Tensor tensor, std::string_view name) const {
  Shape shape(tensor.sizes().begin(), tensor.sizes().end());
  const Value v = add_value(Type::tensor(tensor.elem(), std::move(shape)),
                            {ValueDef::Kind::constant, static_cast<std::uint32_t>(tables_.constants.size()), 0});
  value(v).known = known_constant(tensor);
  value(v).name = name;
  count_graph_bytes(sizeof(Constant) + sizeof(std::int64_t) * tensor.rank() + name.size());
  tables_.constants.push_back({std::move(tensor)});
  return v;
}

NodeId GraphWriter::add_node(const OpDef& op, std::vector<Value> inputs, Attrs attrs, BlockId parent,
                             std::string name) const {
  count_graph_node(sizeof(Node) + inputs.size() * sizeof(Value) + name.size());
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  Node node;
  node.op = &op;
  node.in = std::move(inputs);
  node.attrs = attrs ? std::move(attrs) : default_attrs(op);
  node.parent = parent;
  node.name = std::move(name);
  node.stable = tables_.next_stable++;
  tables_.nodes.push_back(std::move(node));
  return {static_cast<std::uint32_t>(tables_.nodes.size() - 1)};
}

void GraphWriter::add_body(NodeId region, std::size_t params) const {
  const BlockId body{static_cast<std::uint32_t>(tables_.blocks.size())};
  count_graph_bytes(sizeof(Block));
  tables_.blocks.push_back(
      {.parent = graph_.node(region).parent, .owner = region, .params = {}, .nodes = {}, .results = {}});
  for (std::size_t k = 0; k < params; ++k) {
    const Value v = add_value({}, {ValueDef::Kind::param, body.id, static_cast<std::uint32_t>(k)});
    block(body).params.push_back(v);
  }
  node(region).blocks.push_back(body);
}

void GraphWriter::add_results(NodeId id, const std::vector<bool>& wanted) const {
  std::vector<Value>& out = node(id).out;
  out.resize(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) out[i] = add_value({}, {ValueDef::Kind::node, id.id, static_cast<std::uint32_t>(i)});
  }
}

Dim GraphWriter::unbacked(BlockId block, Bounds bounds) const {
  constexpr std::size_t kBytesOfSymbol = 256;
  count_graph_bytes(kBytesOfSymbol);
  const Dim d = tables_.scope.unbacked(bounds);
  tables_.symbol_blocks[*tables_.scope.as_symbol(d)] = block;
  return d;
}

Dim GraphWriter::element_symbol(Value v, std::int64_t index) const {
  const Dim d = unbacked(graph_.block_of(v).value_or(Graph::kMain), {Dim::kMin, Dim::kMax});
  tables_.origins[*tables_.scope.as_symbol(d)] = {v, index};
  return d;
}

std::vector<Dim> GraphWriter::name_elements(Value v, std::int64_t count, bool whole) const {
  if (whole) {
    std::vector<Dim> dims;
    for (std::int64_t k = 0; k < count; ++k) dims.push_back(element_symbol(v, k));
    // An empty known value would refer to no element of v. The planner would then treat v's producer as shape
    // arithmetic and omit it.
    if (!dims.empty()) value(v).known = dims;
    return dims;
  }
  while (value(v).read.size() < static_cast<std::size_t>(count)) {
    const Dim d = element_symbol(v, static_cast<std::int64_t>(value(v).read.size()));
    value(v).read.push_back(d);
  }
  return {value(v).read.begin(), value(v).read.begin() + count};
}

void GraphWriter::adopt_symbols(Value v, const Type& type) const {
  for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
    const auto symbol = tables_.scope.as_symbol(type.shape[axis]);
    if (!symbol || !is_unbacked(tables_.scope, *symbol) || tables_.origins.contains(*symbol)) continue;
    tables_.extent_origins.try_emplace(*symbol, ExtentOrigin{v, static_cast<int>(axis)});
  }
}

void GraphWriter::set_type(Value v, Type type) const {
  value(v).type = std::move(type);
  value(v).known.reset();
}

void GraphWriter::set(NodeId id, Inferred found) const {
  Node& n = node(id);
  for (std::size_t i = 0; i < found.outputs.size(); ++i) {
    auto& [type, known] = found.outputs[i];
    if (!type) continue;
    count_graph_bytes(type->shape.size() * sizeof(Dim) + (known ? known->size() * sizeof(Dim) : 0));
    adopt_symbols(n.out[i], *type);
    value(n.out[i]).type = std::move(*type);
    value(n.out[i]).known = std::move(known);
  }
  for (auto& [param, type] : found.params) {
    adopt_symbols(param, type);
    set_type(param, std::move(type));
  }
  std::ranges::move(found.constraints, std::back_inserter(n.constraints));
  n.space = std::move(found.space);
  n.views = std::move(found.views);
}

void GraphWriter::set_like(NodeId id, const Graph& from, const Node& like) const {
  Node& n = node(id);
  for (std::size_t i = 0; i < like.out.size(); ++i) {
    if (!like.out[i]) continue;
    const GraphTables::ValueRow& was = from.tables_.values[like.out[i].id];
    GraphTables::ValueRow& now = value(n.out[i]);
    now.type = was.type;
    now.known = was.known;
    count_graph_bytes(now.type.shape.size() * sizeof(Dim) + (now.known ? now.known->size() * sizeof(Dim) : 0));
  }
  n.constraints = like.constraints;
  n.space = like.space;
  n.views = like.views;
}

void GraphWriter::remove(NodeId id) const {
  std::vector<NodeId> work{id};
  while (!work.empty()) {
    const NodeId n = work.back();
    work.pop_back();
    std::erase_if(tables_.assumptions, [&](const Assumption& a) { return a.node == n; });
    for (const BlockId b : graph_.node(n).blocks) {
      work.insert(work.end(), block(b).nodes.begin(), block(b).nodes.end());
      block(b).params.clear();
      block(b).nodes.clear();
      block(b).results.clear();
    }
  }
}

void GraphWriter::remove_unused_constants() const {
  std::vector<bool> used(graph_.value_count());
  const auto use = [&](Value v) {
    if (v) used[v.id] = true;
  };
  for (const NodeId n : graph_.nodes()) std::ranges::for_each(graph_.node(n).in, use);
  for (const Block& b : tables_.blocks) std::ranges::for_each(b.results, use);
  for (std::uint32_t v = 0; v < used.size(); ++v) {
    if (used[v] || graph_.constant({v}) == nullptr) continue;
    tables_.constants.write(graph_.def({v}).owner).tensor = {};
  }
}

void GraphWriter::forget(NodeId id) const {
  Node& n = node(id);
  std::erase_if(tables_.assumptions, [&](const Assumption& a) { return a.node == id; });
  n.constraints.clear();
  n.space.reset(), n.views.reset();
  for (const Value v : n.out) {
    if (v) value(v).known.reset();
  }
}

GraphWriter::Mark GraphWriter::mark(BlockId b) const {
  return {.values = tables_.values.size(),
          .nodes = tables_.nodes.size(),
          .blocks = tables_.blocks.size(),
          .constants = tables_.constants.size(),
          .block_nodes = block(b).nodes.size(),
          .symbols = tables_.scope.symbol_count()};
}

void GraphWriter::rollback(BlockId b, const Mark& m) const {
  block(b).nodes.resize(m.block_nodes);
  while (b != Graph::kMain) {  // a rewriter may have added nodes to the enclosing blocks
    b = block(b).parent;
    auto& nodes = block(b).nodes;
    while (!nodes.empty() && nodes.back().id >= m.nodes) nodes.pop_back();
  }
  tables_.values.truncate(m.values);
  tables_.nodes.truncate(m.nodes);
  tables_.blocks.resize(m.blocks);
  tables_.constants.truncate(m.constants);
  std::erase_if(tables_.assumptions, [&](const Assumption& a) { return a.node.id >= m.nodes; });
  for (auto s = static_cast<SymbolId>(m.symbols); s < tables_.scope.symbol_count(); ++s) {
    if (const auto o = graph_.origin(s); o && o->value.id >= m.values) tables_.origins.erase(s);
    if (const auto e = graph_.extent_origin(s); e && e->value.id >= m.values) tables_.extent_origins.erase(s);
    if (graph_.symbol_block(s).id >= m.blocks) tables_.symbol_blocks.erase(s);
  }
}

}  // namespace frazil
