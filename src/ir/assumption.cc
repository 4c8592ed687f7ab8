#include "ir/assumption.h"

#include <algorithm>

#include "ir/infer.h"
#include "ir/inference.h"

namespace frazil {

InferringNode::InferringNode(Graph& graph, NodeId node) : graph_(graph), outermost_(!graph.inferring_) {
  if (!outermost_) return;
  const AssumptionKey own{graph.node(node).stable, 0};
  graph.inferring_ = Graph::Inferring{
      .node = node,
      .next = graph.next_key_.value_or(own),
      .values = graph.value_count(),
      .symbols = graph.scope().symbol_count(),
  };
}

InferringNode::~InferringNode() {
  if (!outermost_) return;
  if (graph_.next_key_) graph_.next_key_ = graph_.inferring_->next;
  graph_.inferring_.reset();
}

bool InferringNode::is_open() const { return outermost_ && graph_.inferring_->open; }

namespace {

bool is_in(const Graph& graph, BlockId block, BlockId outer) {
  while (block != outer && block != Graph::kMain) block = graph.block(block).parent;
  return block == outer;
}

}  // namespace

const Assumption* InferCx::assumption_before(Dim d) const {
  const auto at = std::ranges::find_if(graph_.assumptions_, [&](const Assumption& a) {
    return a.predicate == d && a.node.id <= id_.id && is_in(graph_, node().parent, graph_.node(a.node).parent);
  });
  return at == graph_.assumptions_.end() ? nullptr : &*at;
}

/// Whether an expression reads a symbol of the body of the composite whose types are being inferred.
bool InferCx::is_inner(Dim d) const {
  if (graph_.inferring_->node == id_) return false;
  return std::ranges::any_of(graph_.scope().symbols_of(d), [&](SymbolId s) {
    if (s < graph_.inferring_->symbols) return false;
    const auto origin = graph_.origin(s);
    return !origin || origin->value.id >= graph_.inferring_->values;
  });
}

std::optional<std::int64_t> InferCx::assume(Dim d, std::int64_t guess) {
  if (const auto constant = scope().constant(d)) return constant;
  if (const Assumption* const before = assumption_before(d)) return before->value;
  if (!graph_.inferring_) {  // a region
    const InferringNode inferring(graph_, id_);
    return assume(d, guess);
  }
  Graph::Inferring& inferring = *graph_.inferring_;
  const auto chosen = graph_.choices_.by_key.find(inferring.next);
  const bool is_chosen = chosen != graph_.choices_.by_key.end();
  if (is_inner(d) || (!is_chosen && graph_.choices_.none)) {
    inferring.open = true;
    return std::nullopt;
  }
  const std::int64_t value = is_chosen ? chosen->second : guess;
  graph_.assumptions_.push_back({inferring.next, inferring.node, d, value});
  ++inferring.next.number;
  return value;
}

Result<std::int64_t> InferCx::assumed(Dim d, std::int64_t guess, std::string_view what) {
  if (const auto value = assume(d, guess)) return *value;
  return unsupported("{} must be known, it decides the number of axes", what);
}

Result<std::int64_t> InferCx::assumed_count(std::size_t i) {
  return assumed(scope().product(shape(i)), 1, fmt::format("the length of input '{}'", port_name(i)));
}

}  // namespace frazil
