#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph/graph.h"

namespace frazil::pass {

/// The values of a graph that differ between the elements of a batch.
class Varying {
 public:
  Varying(const Graph& graph, std::span<const std::size_t> inputs);

  bool value(Value v) const { return v && values_[v.id]; }
  /// Returns true for a node that reads a varying value, also in its blocks, or that draws random numbers.
  bool node(NodeId n) const { return nodes_[n.id]; }
  /// Returns true for a varying region whose flow is the same for all elements, so that its blocks can be batched in
  /// place.
  bool in_place(NodeId region) const;
  /// Returns true if result `k` of one of the blocks varies.
  bool result(NodeId region, std::size_t k) const;

  /// The extent from which `reader` can read the number that a symbol stands for. An element of a value is not a
  /// source: texts treat the numbers that they read as extents, and elements may be negative.
  struct Source {
    Value value;
    std::int64_t axis = 0;
  };
  std::optional<Source> source(SymbolId symbol, NodeId reader) const;

 private:
  std::optional<Source> first_extent(SymbolId symbol) const;
  bool is_visible(Value v, NodeId reader) const;
  bool is_of_extents(Value v, NodeId maker) const;
  bool has_extent_text(Dim d, NodeId maker) const;
  bool visit(NodeId id);
  bool reads_varying(const Node& node) const;
  void mark_owners(const Node& node);
  bool mark_outputs(NodeId id);

  const Graph& graph_;
  std::vector<bool> values_, nodes_;
};

}  // namespace frazil::pass
