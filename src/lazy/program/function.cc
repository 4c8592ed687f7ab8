#include "lazy/program/function.h"

#include <algorithm>

#include "ir/edit/copy_nodes.h"
#include "ir/op/op.h"

namespace frazil::lazy {
namespace {

/// Splits a graph into the nodes that depend on some of its inputs alone, and the others.
class Splitter {
 public:
  Splitter(const Graph& graph, std::uint32_t early) : graph_(graph), early_(graph.value_count(), true) {
    const auto& params = graph.main().params;
    for (std::size_t i = 0; i < params.size(); ++i) early_[params[i].id] = (early >> i & 1U) != 0;
    for (const NodeId node : graph.main().nodes) sort(node);
  }

  std::optional<Function::SplitFunction> split() {
    if (!worth_it_ || late_nodes_.empty()) return std::nullopt;
    for (const NodeId node : late_nodes_) {
      for (const Value v : graph_.node(node).in) cross(v);
    }
    for (const Value v : graph_.main().results) cross(v);
    Function::SplitFunction halves;
    const auto early = half(early_nodes_, crossing_, false, halves.late_arguments);
    halves.late_arguments.clear();
    const auto late = half(late_nodes_, graph_.main().results, true, halves.late_arguments);
    if (!early || !late) return std::nullopt;
    halves.early = *early;
    halves.late = *late;
    return halves;
  }

 private:
  void sort(NodeId id) {
    const frazil::Node& node = graph_.node(id);
    const bool early = node.blocks.empty() && std::ranges::all_of(node.in, [&](Value v) { return !v || early_[v.id]; });
    for (const Value v : node.out) {
      if (v) early_[v.id] = early;
    }
    (early ? early_nodes_ : late_nodes_).push_back(id);
    const bool heavy =
        std::holds_alternative<Contraction>(node.op->form) || std::holds_alternative<Composite>(node.op->form);
    worth_it_ = worth_it_ || (early && heavy);
  }

  /// Adds a value that the early half passes to the late half.
  void cross(Value v) {
    if (!v || !early_[v.id] || !graph_.producer(v)) return;
    if (std::ranges::find(crossing_, v) == crossing_.end()) crossing_.push_back(v);
  }

  bool used(Value param, const std::vector<NodeId>& nodes, const std::vector<Value>& results) const {
    return std::ranges::find(results, param) != results.end() || std::ranges::any_of(nodes, [&](NodeId node) {
             return std::ranges::find(graph_.node(node).in, param) != graph_.node(node).in.end();
           });
  }

  /// Makes a function of some nodes. The early half takes all early arguments; the late half takes the arguments that
  /// it uses, then the crossing values.
  std::optional<Owner<Function>> half(const std::vector<NodeId>& nodes, const std::vector<Value>& results, bool late,
                                      std::vector<std::uint32_t>& arguments) const {
    Graph graph;
    graph.name = graph_.name;
    Builder builder(graph);
    NodeCopier copier(graph_, graph);
    const auto bind = [&](Value v, const std::string& name) {
      const auto type = copier.type_of(v, builder);
      if (type) copier.bind(v, builder.input(name, *type).value);
      return type.has_value();
    };
    const auto& params = graph_.main().params;
    for (std::uint32_t i = 0; i < params.size(); ++i) {
      // Callers need not know which early arguments the early half uses.
      const bool wanted = late ? used(params[i], nodes, results) : early_[params[i].id];
      if (!wanted) continue;
      arguments.push_back(i);
      if (!bind(params[i], fmt::format("x{}", i))) return std::nullopt;
    }
    for (std::size_t k = 0; late && k < crossing_.size(); ++k) {
      if (!bind(crossing_[k], fmt::format("early{}", k))) return std::nullopt;
    }
    for (const NodeId node : nodes) {
      if (!copier.copy(node, builder)) return std::nullopt;
    }
    for (std::size_t k = 0; k < results.size(); ++k) {
      builder.output(fmt::format("y{}", k), {&builder, copier.now(results[k])});
    }
    if (!builder.status()) return std::nullopt;
    return Owner(new Function(std::move(graph)));
  }

  const Graph& graph_;
  std::vector<bool> early_;  // by value; true for constants
  std::vector<NodeId> early_nodes_, late_nodes_;
  std::vector<Value> crossing_;
  bool worth_it_ = false;
};

}  // namespace

Function::Function(Graph graph) : graph_(std::make_shared<const Graph>(std::move(graph))) {
  operation_ = {.id = next_operation_id(),
                .outputs = static_cast<std::uint32_t>(graph_->main().results.size()),
                .function = this};
  for (const NodeId n : graph_->nodes()) pure_ = pure_ && !graph_->node(n).op->stateful;
}

const Function::SplitFunction* Function::halves(std::uint32_t early_arguments) const {
  const auto known = [&](const auto& at) { return at->second ? &*at->second : nullptr; };
  {
    const std::scoped_lock lock(mutex_);
    if (const auto at = halves_.find(early_arguments); at != halves_.end()) return known(at);
  }
  // The mutex is free here, because type rules may call functions of the user.
  std::optional<SplitFunction> split;
  if (pure_) split = Splitter(*graph_, early_arguments).split();
  const std::scoped_lock lock(mutex_);
  return known(halves_.try_emplace(early_arguments, std::move(split)).first);
}

}  // namespace frazil::lazy
