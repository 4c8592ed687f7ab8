#include <algorithm>

#include "ir/edit/rebuild.h"
#include "ops/control/control.h"
#include "pass/engine/rules.h"
#include "pass/loops/loops.h"

// Loop-invariant code motion.
namespace frazil::pass {
namespace {

constexpr std::int64_t kMaxMovedElements = 4096;

/// Returns true if the loop provably runs at least once.
bool surely_runs(const Graph& graph, const Node& loop) {
  const auto content_is = [&](std::size_t i, auto holds) {
    const std::vector<Dim>* known = i < loop.in.size() && loop.in[i] ? graph.known_value(loop.in[i]) : nullptr;
    return known && known->size() == 1 && holds((*known)[0]);
  };
  const auto absent = [&](std::size_t i) { return i >= loop.in.size() || !loop.in[i]; };
  if (loop.op == &ops::Scan) return false;
  const bool trips = absent(0) || content_is(0, [&](Dim d) { return graph.scope().bounds(d).min >= 1; });
  return trips && (absent(1) || content_is(1, [](Dim d) { return d == Dim(1); }));
}

/// Returns true if the node is cheap enough to compute even if the loop does not run.
bool is_cheap_to_move(const Graph& graph, const Node& node) {
  if (std::holds_alternative<Contraction>(node.op->form)) return false;
  std::int64_t count = 1;
  for (Dim d : graph.type(node.out[0]).shape) {
    if (!d.is_const() || d.value() > kMaxMovedElements) return false;
    count *= d.value();
    if (count > kMaxMovedElements) return false;
  }
  return true;
}

/// Returns true for a node with one result that depends on its operands only and cannot fail.
bool may_move(const Graph& graph, const Node& node) {
  const bool fits = std::holds_alternative<Elementwise>(node.op->form) ||
                    std::holds_alternative<Contraction>(node.op->form) || std::holds_alternative<View>(node.op->form);
  if (!fits || !node.constraints.empty() || node.in.empty() || node.out.size() != 1 || graph.known_value(node.out[0])) {
    return false;
  }
  if (std::holds_alternative<Elementwise>(node.op->form) && !is_safe_broadcast(graph, node)) return false;
  const auto is_matrix = [&](Value v) {
    return !v || graph.type(v).rank() <= 2;
  };  // more axes may involve broadcasting
  if (std::holds_alternative<Contraction>(node.op->form) && !std::ranges::all_of(node.in, is_matrix)) return false;
  const auto exists = [&](Dim d) { return graph.scope().bounds(d).min >= 0; };
  return std::ranges::all_of(graph.type(node.out[0]).shape, exists) &&
         std::ranges::all_of(node.in, [&](Value v) { return !v || graph.type(v).ranked; });
}

class Mover : public Rewriter {
 public:
  /// Returns the outermost block in which a node with inputs `in` can be placed instead of `block`.
  static BlockId place(const Graph& graph, const Graph& from, const Node& node, std::span<const Value> in,
                       BlockId block) {
    while (block != Graph::kMain) {
      const Node& loop = graph.node(graph.block(block).owner);
      const bool is_loop = loop.op == &ops::Loop || loop.op == &ops::Scan;
      const auto inside = [&](Value v) { return v && graph.block_of(v) == block; };
      if (!is_loop || std::ranges::any_of(in, inside)) break;
      if (!is_cheap_to_move(from, node) && !surely_runs(graph, loop)) break;
      block = graph.block(block).parent;
    }
    return block;
  }

  Result<std::optional<std::vector<Value>>> rewrite(const Graph& from, NodeId id, Builder& to,
                                                    std::span<const Value> inputs) override {
    const Node& node = from.node(id);
    if (!may_move(from, node)) return std::nullopt;
    const BlockId outer = place(to.graph(), from, node, inputs, to.block());
    if (outer == to.block()) return std::nullopt;
    Builder before(to.graph(), outer);
    FRAZIL_TRY(const NodeId made, before.append(*node.op, std::vector<Value>(inputs.begin(), inputs.end()), node.attrs,
                                                {true}, node.name));
    ++moved_;
    return to.graph().node(made).out;
  }
  int moved() const { return moved_; }

 private:
  int moved_ = 0;
};

bool any_moves(const Graph& graph) {
  for (std::uint32_t b = 1; b < graph.block_count(); ++b) {
    for (NodeId id : graph.block({b}).nodes) {
      const Node& node = graph.node(id);
      if (may_move(graph, node) && Mover::place(graph, graph, node, node.in, {b}) != BlockId{b}) return true;
    }
  }
  return false;
}

}  // namespace

Result<std::optional<Graph>> move_invariants(const Graph& graph, const PassOptions&, std::string& note) {
  if (graph.block_count() == 1 || !any_moves(graph)) return std::nullopt;
  Mover mover;
  FRAZIL_TRY(Graph made, rebuild(graph, mover));
  note = fmt::format("{} nodes moved", mover.moved());
  return made;
}

}  // namespace frazil::pass
