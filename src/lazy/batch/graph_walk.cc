#include "lazy/batch/graph_walk.h"

#include <algorithm>
#include <set>

#include "ir/edit/copy_nodes.h"
#include "ir/op/op.h"
#include "lazy/batch/graph_run.h"
#include "lazy/record/trace.h"

namespace frazil::lazy {
namespace {

/// Returns the users of each value: nodes of all blocks, and results of blocks.
GraphWalk::Users users_of(const Graph& graph) {
  constexpr std::uint32_t kResult = ~0U;
  GraphWalk::Users users(graph.value_count());
  for (std::uint32_t b = 0; b < graph.block_count(); ++b) {
    const Block& block = graph.block(BlockId{b});
    for (const NodeId node : block.nodes) {
      for (const Value v : graph.node(node).in) {
        if (v) users[v.id].push_back(node.id);
      }
    }
    for (const Value v : block.results) users[v.id].push_back(kResult);
  }
  return users;
}

}  // namespace

GraphWalk::GraphWalk(std::shared_ptr<const Graph> graph)
    : graph_(std::move(graph)),
      pieces_(graph_->block_count()),
      flows_(graph_->node_count()),
      constants_(graph_->value_count()) {
  for (std::uint32_t v = 0; v < graph_->value_count(); ++v) {
    const frazil::Constant* const constant = graph_->constant(Value{v});
    if (constant != nullptr) constants_[v] = of_datum(constant->tensor, NodeKind::parameter);
  }
  const Users users = users_of(*graph_);
  for (std::uint32_t b = 0; b < graph_->block_count(); ++b) cut(BlockId{b}, users);
}

void GraphWalk::cut(BlockId block, const Users& users) {
  std::vector<Piece>& pieces = pieces_[block.id];
  Piece open;
  for (const NodeId id : graph_->block(block).nodes) {
    const frazil::Node& node = graph_->node(id);
    if (node.blocks.empty()) {
      open.nodes.push_back(id);
      continue;
    }
    end_piece(std::exchange(open, {}), users, pieces);
    auto program = std::make_unique<Program>();
    std::get<Region>(node.op->form).lower(node, *graph_, program->flow);
    program->target = flow_targets(program->flow.ops);
    flows_[id.id] = std::move(program);
    pieces.emplace_back().region = id;
  }
  end_piece(std::move(open), users, pieces);
}

/// Ends a piece. Finds the values that its nodes need from outside, and the results that are used outside.
void GraphWalk::end_piece(Piece piece, const Users& users, std::vector<Piece>& pieces) {
  if (piece.nodes.empty()) return;
  const std::set<NodeId> inside(piece.nodes.begin(), piece.nodes.end());
  std::set<Value> made;
  for (const NodeId id : piece.nodes) {
    for (const Value v : graph_->node(id).in) {
      if (!v || graph_->constant(v) != nullptr || made.contains(v)) continue;
      if (std::ranges::find(piece.inputs, v) == piece.inputs.end()) piece.inputs.push_back(v);
    }
    for (const Value v : graph_->node(id).out) {
      if (!v) continue;
      made.insert(v);
      const auto& all = users[v.id];
      if (std::ranges::any_of(all, [&](std::uint32_t user) { return !inside.contains(NodeId{user}); })) {
        piece.outputs.push_back(v);
      }
    }
  }
  if (piece.outputs.empty()) return;
  pieces.push_back(std::move(piece));
  const std::size_t number = pieces.size() - 1;
  const BlockId block = graph_->node(pieces[number].nodes[0]).parent;
  pieces[number].function = std::make_unique<TracedFunction>(
      graph_->name,
      [this, block, number](std::span<const Handle> arguments) { return trace(pieces_[block.id][number], arguments); });
}

Result<std::vector<Handle>> GraphWalk::trace(const Piece& piece, std::span<const Handle> arguments) const {
  Trace& trace = *Trace::current();
  NodeCopier copier(*graph_, trace.to().graph());
  for (std::size_t i = 0; i < piece.inputs.size(); ++i) {
    FRAZIL_TRY(const Value value, trace.value_of(arguments[i].ref()));
    copier.bind(piece.inputs[i], value);
  }
  for (const NodeId node : piece.nodes) FRAZIL_CHECK(copier.copy(node, trace.to()));
  std::vector<Handle> results;
  for (const Value output : piece.outputs) {
    const Value value = copier.now(output);
    results.push_back(trace.handle_of(std::span(&value, 1)));
  }
  return results;
}

Result<std::vector<Handle>> GraphWalk::run(std::span<const Handle> inputs) const { return GraphRun(*this).run(inputs); }

}  // namespace frazil::lazy
