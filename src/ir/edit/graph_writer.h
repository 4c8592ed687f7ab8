#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace frazil {

struct Inferred;

/// The one way to write the tables of a Graph. Private to ir/: others use Builder, Patch and rebuild(), which infer
/// types and check. Additions count towards the limits of the load or the run.
class GraphWriter {
 public:
  explicit GraphWriter(Graph& graph) : graph_(graph), tables_(graph.tables_) {}

  GraphTables* operator->() const { return &tables_; }
  Node& node(NodeId id) const { return tables_.nodes.write(id.id); }
  Block& block(BlockId id) const { return tables_.blocks[id.id]; }
  GraphTables::ValueRow& value(Value v) const { return tables_.values.write(v.id); }

  Value add_input(std::string_view name, Type type, Tensor default_value) const;
  Value add_constant(Tensor tensor, std::string_view name) const;
  /// A node without results, which is not in its block yet. Trailing absent inputs are dropped.
  NodeId add_node(const OpDef& op, std::vector<Value> inputs, Attrs attrs, BlockId parent, std::string name) const;
  /// A body of a region, with params that have no types yet.
  void add_body(NodeId region, std::size_t params) const;
  /// Gives a node its results, without types; `wanted[k]` false omits result k.
  void add_results(NodeId node, const std::vector<bool>& wanted) const;
  /// Puts a node at the end of its block.
  void place(NodeId node) const { block(graph_.node(node).parent).nodes.push_back(node); }
  /// Forgets the names and bodies of a node that no block lists any more, and its assumptions.
  void remove(NodeId node) const;
  /// Frees the constants that no node and no result uses.
  void remove_unused_constants() const;

  /// An unbacked symbol that belongs to `block`.
  Dim unbacked(BlockId block, Bounds bounds = {}) const;
  /// The first `count` elements of an integer tensor as backed symbols, which are read at run time. `whole`: it has no
  /// more, and the symbols are its known value.
  std::vector<Dim> name_elements(Value value, std::int64_t count, bool whole) const;

  /// Sets the type of a param, whose known value is forgotten.
  void set_type(Value param, Type type) const;
  /// Writes what a type rule found for a node.
  void set(NodeId node, Inferred found) const;
  /// Gives a node what inference found for node `like` of `from`, which has as many results and no symbol of its own.
  void set_like(NodeId node, const Graph& from, const Node& like) const;
  /// Forgets what was found for a node that is inferred again.
  void forget(NodeId node) const;

  /// Table sizes, for undoing a speculative build at the end of a block.
  struct Mark {
    std::size_t values, nodes, blocks, constants, block_nodes, symbols;
  };
  Mark mark(BlockId block) const;
  void rollback(BlockId block, const Mark& mark) const;

 private:
  Value add_value(Type type, ValueDef def) const;
  Dim element_symbol(Value value, std::int64_t index) const;
  /// Records that the unbacked symbols among the extents of `type` that have no origin are extents of `value`.
  void adopt_symbols(Value value, const Type& type) const;

  Graph& graph_;
  GraphTables& tables_;
};

}  // namespace frazil
