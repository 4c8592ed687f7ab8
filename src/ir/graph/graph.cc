#include "ir/graph/graph.h"

#include <fmt/format.h>

#include "base/value/text.h"
#include "ir/op/op.h"

namespace frazil {

const Constant* Graph::constant(Value v) const {
  const ValueDef& d = def(v);
  if (d.kind != ValueDef::Kind::constant) return nullptr;
  const Constant& c = tables_.constants[d.owner];
  return c.tensor.defined() ? &c : nullptr;
}

std::optional<NodeId> Graph::producer(Value v) const {
  const ValueDef& d = def(v);
  return d.kind == ValueDef::Kind::node ? std::optional(NodeId{d.owner}) : std::nullopt;
}

std::optional<BlockId> Graph::block_of(Value v) const {
  const ValueDef& d = def(v);
  switch (d.kind) {
    case ValueDef::Kind::param: return BlockId{d.owner};
    case ValueDef::Kind::node: return tables_.nodes[d.owner].parent;
    case ValueDef::Kind::constant: return std::nullopt;
  }
  return std::nullopt;
}

const std::vector<Dim>* Graph::known_value(Value v) const {
  const auto& c = tables_.values[v.id].known;
  return c ? &*c : nullptr;
}

const Tensor* Graph::input_default(std::size_t input) const {
  return input < tables_.input_defaults.size() && tables_.input_defaults[input].defined()
             ? &tables_.input_defaults[input]
             : nullptr;
}

std::optional<ElementOrigin> Graph::origin(SymbolId symbol) const {
  const auto it = tables_.origins.find(symbol);
  return it == tables_.origins.end() ? std::nullopt : std::optional(it->second);
}

std::optional<ExtentOrigin> Graph::extent_origin(SymbolId symbol) const {
  const auto it = tables_.extent_origins.find(symbol);
  return it == tables_.extent_origins.end() ? std::nullopt : std::optional(it->second);
}

BlockId Graph::symbol_block(SymbolId symbol) const {
  const auto it = tables_.symbol_blocks.find(symbol);
  return it == tables_.symbol_blocks.end() ? kMain : it->second;
}

std::vector<Assumption> assumptions_at(const Graph& graph, NodeId node) {
  std::vector<Assumption> all;
  std::ranges::copy_if(graph.assumptions(), std::back_inserter(all),
                       [&](const Assumption& a) { return a.node == node; });
  std::ranges::sort(all, {}, &Assumption::key);
  return all;
}

std::optional<bool> assumed_branch(const Graph& graph, const Node& node) {
  const AssumptionKey key{node.stable, 0};
  const auto at = std::ranges::find(graph.assumptions(), key, &Assumption::key);
  return node.blocks.empty() || at == graph.assumptions().end() ? std::nullopt : std::optional(at->value != 0);
}

std::string Graph::describe(NodeId id) const {
  const Node& n = node(id);
  return n.name.empty() ? fmt::format("node #{} ({})", n.stable, n.op->name)
                        : fmt::format("node '{}' ({})", printable(n.name), n.op->name);
}

}  // namespace frazil
