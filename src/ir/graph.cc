#include "ir/graph.h"

#include <fmt/format.h>

#include "base/text.h"
#include "ir/op.h"

namespace frazil {

Graph::Graph() { blocks_.emplace_back(); }

const Constant* Graph::constant(Value v) const {
  const ValueDef& d = def(v);
  return d.kind == ValueDef::Kind::constant ? &constants_[d.owner] : nullptr;
}

std::optional<NodeId> Graph::producer(Value v) const {
  const ValueDef& d = def(v);
  return d.kind == ValueDef::Kind::node ? std::optional(NodeId{d.owner}) : std::nullopt;
}

std::optional<BlockId> Graph::block_of(Value v) const {
  const ValueDef& d = def(v);
  switch (d.kind) {
    case ValueDef::Kind::param: return BlockId{d.owner};
    case ValueDef::Kind::node: return nodes_[d.owner].parent;
    case ValueDef::Kind::constant: return std::nullopt;
  }
  return std::nullopt;
}

const std::vector<Dim>* Graph::known_value(Value v) const {
  const auto& c = values_[v.id].known;
  return c ? &*c : nullptr;
}

const Tensor* Graph::input_default(std::size_t input) const {
  return input < input_defaults_.size() && input_defaults_[input].defined() ? &input_defaults_[input] : nullptr;
}

std::optional<Graph::Origin> Graph::origin(SymbolId symbol) const {
  const auto it = origins_.find(symbol);
  return it == origins_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<Graph::ExtentOrigin> Graph::extent_origin(SymbolId symbol) const {
  const auto it = extent_origins_.find(symbol);
  return it == extent_origins_.end() ? std::nullopt : std::optional(it->second);
}

BlockId Graph::symbol_block(SymbolId symbol) const {
  const auto it = symbol_blocks_.find(symbol);
  return it == symbol_blocks_.end() ? kMain : it->second;
}

std::vector<Assumption> Graph::assumptions_at(NodeId node) const {
  std::vector<Assumption> all;
  std::ranges::copy_if(assumptions_, std::back_inserter(all), [&](const Assumption& a) { return a.node == node; });
  std::ranges::sort(all, {}, &Assumption::key);
  return all;
}

std::optional<bool> Graph::assumed_branch(const Node& node) const {
  const AssumptionKey key{node.stable, 0};
  const auto at = std::ranges::find(assumptions_, key, &Assumption::key);
  return node.blocks.empty() || at == assumptions_.end() ? std::nullopt : std::optional(at->value != 0);
}

std::string Graph::describe(NodeId id) const {
  const Node& n = node(id);
  return n.name.empty() ? fmt::format("node #{} ({})", n.stable, n.op->name)
                        : fmt::format("node '{}' ({})", printable(n.name), n.op->name);
}

}  // namespace frazil
