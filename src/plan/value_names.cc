#include "plan/value_names.h"

#include <algorithm>
#include <unordered_map>

#include "ir/hash.h"
#include "ir/op.h"
#include "ir/text_walk.h"
#include "plan/bind.h"

namespace frazil {
namespace {

enum class Kind : std::uint8_t { input, constant, param, node, result, element, extent };

Hasher named(Kind kind) { return Hasher().add(static_cast<std::uint64_t>(kind)); }

}  // namespace

/// Names values in the order in which they are computed.
class ValueNaming {
 public:
  explicit ValueNaming(ValueNames& to) : graph_(to.graph_), names_(to.names_) {}

  Status enter(BlockId id) {
    const Block& block = graph_.block(id);
    for (std::size_t k = 0; k < block.params.size(); ++k) {
      Hasher h = named(block.owner ? Kind::param : Kind::input);
      if (block.owner) region(h, block.owner, id);
      names_[block.params[k].id] = h.add(k).value();
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
  void region(Hasher& h, NodeId owner, BlockId block) {
    const Node& node = graph_.node(owner);
    h.add(node.stable).add(static_cast<std::uint64_t>(std::ranges::find(node.blocks, block) - node.blocks.begin()));
    uses(h, node.in);
  }

  void uses(Hasher& h, const std::vector<Value>& values) {
    h.add(values.size());
    for (Value v : values) h.add(v ? name(v) : 0);
  }

  std::uint64_t name(Value v) {
    std::uint64_t& known = names_[v.id];
    if (const Constant* c = known == 0 ? graph_.constant(v) : nullptr) {
      known = named(Kind::constant).add(hash_of(c->tensor)).value();
    }
    return known;
  }

  void results(NodeId id) {
    const Node& node = graph_.node(id);
    Hasher h = named(Kind::node);
    h.add(node.op->domain).add(node.op->name);
    uses(h, node.in);
    add_attributes(h, node);
    for (BlockId b : node.blocks) uses(h, graph_.block(b).results);
    if (draws_random_numbers(graph_, id)) draw(h, node);
    const std::uint64_t whole = h.value();
    for (std::size_t k = 0; k < node.out.size(); ++k) {
      if (node.out[k]) names_[node.out[k].id] = named(Kind::result).add(whole).add(k).value();
    }
  }

  /// Equal draws are different values. Expansion numbers the nodes that it makes anew; they keep the name.
  void draw(Hasher& h, const Node& node) {
    h.add(node.name);
    h.add(draws_[h.value()]++);
  }

  const Graph& graph_;
  std::vector<std::uint64_t>& names_;
  std::unordered_map<std::uint64_t, std::uint64_t> draws_;  // how many of one name so far
};

ValueNames::ValueNames(const Graph& graph) : graph_(graph), names_(graph.value_count()) {
  ValueNaming naming(*this);
  [[maybe_unused]] const Status done = walk(graph, naming);
}

std::optional<std::uint64_t> ValueNames::of_symbol(SymbolId symbol) const {
  if (const auto o = graph_.origin(symbol)) {
    return named(Kind::element).add(of(o->value)).add(static_cast<std::uint64_t>(o->index)).value();
  }
  if (const auto e = graph_.extent_origin(symbol)) {
    return named(Kind::extent).add(of(e->value)).add(static_cast<std::uint64_t>(e->axis)).value();
  }
  return std::nullopt;
}

bool draws_random_numbers(const Graph& graph, NodeId id) {
  const OpDef& op = *graph.node(id).op;
  return op.stateful || (std::holds_alternative<Composite>(op.form) && has_unranked_operand(graph, id));
}

}  // namespace frazil
