#include "ir/graph/assumption.h"

#include <algorithm>

#include "ir/infer/infer.h"
#include "ir/infer/inference.h"

namespace frazil {

InferringNode::InferringNode(Graph& graph, NodeId node) : graph_(graph), outermost_(!graph_->inferring) {
  if (!outermost_) return;
  const AssumptionKey own{graph.node(node).stable, 0};
  graph_->inferring = GraphTables::Inferring{
      .node = node,
      .next = graph_->next_key.value_or(own),
      .values = graph.value_count(),
      .symbols = graph.scope().symbol_count(),
  };
}

InferringNode::~InferringNode() {
  if (!outermost_) return;
  if (graph_->next_key) graph_->next_key = graph_->inferring->next;
  graph_->inferring.reset();
}

bool InferringNode::is_open() const { return outermost_ && graph_->inferring->open; }

namespace {

bool is_in(const Graph& graph, BlockId block, BlockId outer) {
  while (block != outer && block != Graph::kMain) block = graph.block(block).parent;
  return block == outer;
}

/// Returns the assumption about `d` that is checked before this node; null if there is none.
const Assumption* assumption_before(const NodeReader& at, Dim d) {
  const Graph& graph = at.graph();
  const auto& all = graph.assumptions();
  const auto found = std::ranges::find_if(all, [&](const Assumption& a) {
    return a.predicate == d && a.node.id <= at.id().id && is_in(graph, at.node().parent, graph.node(a.node).parent);
  });
  return found == all.end() ? nullptr : &*found;
}

/// Returns true if an expression reads a symbol of the body of the composite whose types are being inferred.
bool is_inner(const NodeReader& at, const GraphTables::Inferring& inferring, Dim d) {
  if (inferring.node == at.id()) return false;
  const Graph& graph = at.graph();
  return std::ranges::any_of(graph.scope().symbols_of(d), [&](SymbolId s) {
    if (s < inferring.symbols) return false;
    const auto origin = graph.origin(s);
    return !origin || origin->value.id >= inferring.values;
  });
}

}  // namespace

std::optional<std::int64_t> InferCx::assume(Dim d, std::int64_t guess) {
  if (const auto constant = constant_of(scope(), d)) return constant;
  if (const Assumption* const before = assumption_before(*this, d)) return before->value;
  const GraphWriter write(graph_);
  if (!write->inferring) {  // a region
    const InferringNode inferring(graph_, id());
    return assume(d, guess);
  }
  GraphTables::Inferring& inferring = *write->inferring;
  const auto chosen = graph_.choices().by_key.find(inferring.next);
  const bool is_chosen = chosen != graph_.choices().by_key.end();
  if (is_inner(*this, inferring, d) || (!is_chosen && graph_.choices().none)) {
    inferring.open = true;
    return std::nullopt;
  }
  const std::int64_t value = is_chosen ? chosen->second : guess;
  write->assumptions.push_back({inferring.next, inferring.node, d, value});
  ++inferring.next.number;
  return value;
}

Result<std::int64_t> InferCx::assumed(Dim d, std::int64_t guess, std::string_view what) {
  if (const auto value = assume(d, guess)) return *value;
  return unsupported("{} must be known, it decides the number of axes", what);
}

Result<std::int64_t> InferCx::assumed_count(std::size_t i) {
  return assumed(product(scope(), shape(i)), 1, fmt::format("the length of input '{}'", port_name(i)));
}

}  // namespace frazil
