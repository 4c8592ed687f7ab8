#include <algorithm>

#include "ir/edit/rebuild.h"
#include "ops/control/control.h"
#include "ops/elementwise/logic.h"
#include "pass/engine/rules.h"
#include "pass/loops/unroll.h"

// Ifs whose branches are so cheap that computing both costs less than branching.
namespace frazil::pass {
namespace {

constexpr std::int64_t kMaxBranchElements = 64;
constexpr std::size_t kMaxBranchNodes = 6;  ///< nodes of both branches together

bool is_few(const Type& type) {
  if (!type.is_tensor() || !type.ranked || type.elem == Elem::string || is_complex(type.elem)) return false;
  std::int64_t count = 1;
  for (Dim d : type.shape) {
    if (!d.is_const() || d.value() > kMaxBranchElements) return false;
    count *= d.value();
    if (count > kMaxBranchElements) return false;
  }
  return true;
}

/// Returns true for a node that may run even if its results are not needed.
bool is_cheap_to_run(const Graph& graph, const Node& node) {
  return std::holds_alternative<Elementwise>(node.op->form) && node.constraints.empty() && node.out.size() == 1 &&
         is_few(graph.type(node.out[0])) && is_safe_broadcast(graph, node) && !node.op->stateful;
}

bool may_select(const Graph& graph, const Node& node) {
  if (node.op != &ops::If || !node.constraints.empty() || assumed_branch(graph, node) || graph.known_value(node.in[0]))
    return false;
  const Type& condition = graph.type(node.in[0]);
  if (!condition.ranked || condition.rank() != 0) return false;
  const Block &yes = graph.block(node.blocks[0]), &no = graph.block(node.blocks[1]);
  if (yes.nodes.size() + no.nodes.size() > kMaxBranchNodes) return false;
  for (const Block* side : {&yes, &no}) {
    const auto cheap = [&](NodeId id) { return is_cheap_to_run(graph, graph.node(id)); };
    if (!std::ranges::all_of(side->nodes, cheap)) return false;
  }
  for (std::size_t i = 0; i < node.out.size(); ++i) {
    if (!node.out[i]) continue;
    const Type &a = graph.type(yes.results[i]), &b = graph.type(no.results[i]);
    if (!is_few(a) || a != b || graph.known_value(node.out[i])) return false;
  }
  return true;
}

class Selector : public Rewriter {
 public:
  Result<std::optional<Inlined>> inlines(const Graph& from, NodeId id, Builder&,
                                         std::span<const Value> inputs) override {
    if (!may_select(from, from.node(id))) return std::nullopt;
    condition_ = inputs[0];
    return Inlined{Splice{0, {}}, {}};
  }
  /// Branches contain no regions, so only one If is open at a time.
  Result<Inlined> spliced(const Graph& from, NodeId id, Builder& to, std::span<const Value> results) override {
    if (!yes_) {
      yes_.emplace(results.begin(), results.end());
      return Inlined{Splice{1, {}}, {}};
    }
    ++selected_;
    std::vector<Value> outputs;
    for (std::size_t i = 0; i < from.node(id).out.size(); ++i) {
      if (!from.node(id).out[i]) {
        outputs.emplace_back();
        continue;
      }
      outputs.push_back(ops::Where(Expr{&to, condition_}, Expr{&to, (*yes_)[i]}, Expr{&to, results[i]}).value);
    }
    yes_.reset();
    FRAZIL_CHECK(to.status());
    return Inlined{{}, std::move(outputs)};
  }
  int selected() const { return selected_; }

 private:
  Value condition_;
  std::optional<std::vector<Value>> yes_;
  int selected_ = 0;
};

}  // namespace

Result<std::optional<Graph>> select_sides(const Graph& graph, const PassOptions&, std::string& note) {
  const auto selects = [&](NodeId n) { return may_select(graph, graph.node(n)); };
  if (std::ranges::none_of(graph.nodes(), selects)) return std::nullopt;
  Selector selector;
  FRAZIL_TRY(Graph made, rebuild(graph, selector));
  note = fmt::format("{} Ifs replaced by Where", selector.selected());
  return made;
}

}  // namespace frazil::pass
