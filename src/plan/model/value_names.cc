#include "plan/model/value_names.h"

#include <algorithm>
#include <unordered_map>

#include "ir/op/op.h"
#include "ir/text/text_walk.h"
#include "plan/lower/bind.h"

namespace frazil {
namespace {

enum class Kind : std::uint8_t {
  input,
  constant,
  param,
  node,
  result,
  element,
  extent,
  input_extent,
  capacity,
  operation
};

Key named(Kind kind) { return Key().add(static_cast<std::uint64_t>(kind)); }

}  // namespace

/// Names values in the order in which they are computed.
class ValueNaming {
 public:
  explicit ValueNaming(ValueNames& to) : graph_(to.graph_), numbers_(to.numbers_), names_(to.names_) {}

  Status enter(BlockId id) {
    const Block& block = graph_.block(id);
    for (std::size_t k = 0; k < block.params.size(); ++k) {
      Key key = named(block.owner ? Kind::param : Kind::input);
      if (block.owner) region(key, block.owner, id);
      names_[block.params[k].id] = numbers_.of(key.add(std::uint64_t{k}));
    }
    return {};
  }
  Status node(NodeId id) {
    if (graph_.node(id).blocks.empty()) results(id);
    return {};
  }
  Status done(NodeId id) {
    results(id);
    return {};
  }
  Status leave(BlockId) { return {}; }

 private:
  void region(Key& key, NodeId owner, BlockId block) {
    const Node& node = graph_.node(owner);
    key.add(node.stable).add(static_cast<std::uint64_t>(std::ranges::find(node.blocks, block) - node.blocks.begin()));
    uses(key, node.in);
  }

  void uses(Key& key, const std::vector<Value>& values) {
    key.add(std::uint64_t{values.size()});
    for (Value v : values) key.add(v ? name(v) : 0);
  }

  std::uint64_t name(Value v) {
    std::uint64_t& known = names_[v.id];
    if (const Constant* c = known == 0 ? graph_.constant(v) : nullptr) {
      known = numbers_.of(named(Kind::constant).add(c->tensor));
    }
    return known;
  }

  void results(NodeId id) {
    const Node& node = graph_.node(id);
    Key key = named(Kind::node);
    key.add(node.op->domain).add(node.op->name);
    uses(key, node.in);
    key.add_attributes(node);
    for (BlockId b : node.blocks) uses(key, graph_.block(b).results);
    if (draws_random_numbers(graph_, id)) draw(key, node);
    const std::uint64_t whole = numbers_.of(key);
    for (std::size_t k = 0; k < node.out.size(); ++k) {
      if (node.out[k]) names_[node.out[k].id] = numbers_.of(named(Kind::result).add(whole).add(std::uint64_t{k}));
    }
  }

  /// Makes equal draws different values by counting them. Uses the node's name: expansion gives the nodes that it makes
  /// new ids, but keeps names.
  void draw(Key& key, const Node& node) {
    key.add(node.name);
    key.add(draws_[numbers_.of(key)]++);
  }

  const Graph& graph_;
  KeyNumbers& numbers_;
  std::vector<std::uint64_t>& names_;
  std::unordered_map<std::uint64_t, std::uint64_t> draws_;  // number of draws so far, per name
};

ValueNames::ValueNames(const Graph& graph, KeyNumbers& numbers)
    : graph_(graph), numbers_(numbers), names_(graph.value_count()) {
  ValueNaming naming(*this);
  [[maybe_unused]] const Status done = walk(graph, naming);
}

std::optional<std::uint64_t> ValueNames::of_symbol(SymbolId symbol) const {
  if (const auto o = graph_.origin(symbol)) {
    return numbers_.of(named(Kind::element).add(of(o->value)).add(static_cast<std::uint64_t>(o->index)));
  }
  if (const auto e = graph_.extent_origin(symbol)) {
    return numbers_.of(named(Kind::extent).add(of(e->value)).add(static_cast<std::uint64_t>(e->axis)));
  }
  return std::nullopt;
}

std::uint64_t ValueNames::of_capacity(Value v, std::size_t axis) const {
  return numbers_.of(named(Kind::capacity).add(of(v)).add(std::uint64_t{axis}));
}

std::uint64_t ValueNames::of_input(std::size_t index, std::size_t axis) const {
  return numbers_.of(named(Kind::input_extent).add(std::uint64_t{index}).add(std::uint64_t{axis}));
}

std::uint64_t ValueNames::of_operation(DimProgram::Op op, std::uint64_t a, std::uint64_t b, std::int64_t imm) const {
  Key key = named(Kind::operation).add(static_cast<std::uint64_t>(op));
  return numbers_.of(key.add(a).add(b).add(static_cast<std::uint64_t>(imm)));
}

bool draws_random_numbers(const Graph& graph, NodeId id) {
  const OpDef& op = *graph.node(id).op;
  return op.stateful || (std::holds_alternative<Composite>(op.form) && has_unranked_value(graph, id));
}

}  // namespace frazil
