#include "pass/batch/ragged.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/edit/rebuild.h"
#include "ir/graph/model_info.h"
#include "ir/op/op.h"
#include "pass/batch/rules_ragged.h"

namespace frazil::pass {
namespace {

/// Replaces the nodes that read several rows.
class RaggedWriter : public Rewriter {
 public:
  RaggedWriter(const Graph& graph, const RowAxes& axes)
      : axes_(axes), lengths_(graph.main().params.back()), is_replaced_(graph.node_count()) {
    for (const NodeId n : graph.main().nodes) {
      const Node& node = graph.node(n);
      is_replaced_[n.id] = !node.in.empty() && axes.axis(node.in[0]) && ragged_rule_of(*node.op) != nullptr;
    }
  }

  void begin(const Graph&, const std::function<Value(Value)>& now) override { now_ = now; }

  Result<std::optional<std::vector<Value>>> rewrite(const Graph& from, NodeId id, Builder& to,
                                                    std::span<const Value> inputs) override {
    if (!is_replaced_[id.id]) return std::nullopt;
    const Node& node = from.node(id);
    auto made = ragged_rule_of(*node.op)->make({node, to, inputs, axes_, now_(lengths_)}, places_);
    if (!made) return at_node(from.describe(id), std::move(made).error());
    return std::move(*made);
  }

 private:
  const RowAxes& axes_;
  const Value lengths_;
  std::vector<bool> is_replaced_;
  std::function<Value(Value)> now_;
  RowPlaces places_;
};

std::string free_name(std::string_view name, const auto& is_taken) {
  std::string free(name);
  while (is_taken(free)) free += '_';
  return free;
}

/// Adds the input for the lengths of requests.
void add_lengths(Graph& graph) {
  Builder builder(graph);
  const auto is_symbol = [&](const std::string& name) { return graph.scope().find_symbol(name).has_value(); };
  const auto is_port = [&](const std::string& name) {
    return std::ranges::find(graph.input_names(), name) != graph.input_names().end() ||
           std::ranges::find(graph.output_names(), name) != graph.output_names().end();
  };
  const Dim requests = builder.dim(free_name("requests", is_symbol), {.min = 1});
  builder.input(free_name(kLengths, is_port), Type::tensor(Elem::i64, {requests}));
}

/// Drops the extents that the file declares: rows have taken the place of requests.
void drop_declared(Graph& graph) {
  if (graph.info == nullptr || (graph.info->declared_inputs.empty() && graph.info->declared_outputs.empty())) return;
  auto info = std::make_shared<ModelInfo>(*graph.info);
  info->declared_inputs.clear();
  info->declared_outputs.clear();
  graph.info = std::move(info);
}

}  // namespace

Result<Graph> ragged(const Graph& graph, std::string_view extent) {
  const auto symbol = graph.scope().find_symbol(extent);
  if (!symbol) return fail(Code::bad_input, "there is no extent '{}'", extent);
  Graph with_lengths = graph;
  add_lengths(with_lengths);
  drop_declared(with_lengths);
  FRAZIL_TRY(const RowAxes axes, RowAxes::of(with_lengths, *symbol, ragged_operators()));
  RaggedWriter writer(with_lengths, axes);
  return rebuild(with_lengths, writer);
}

}  // namespace frazil::pass
