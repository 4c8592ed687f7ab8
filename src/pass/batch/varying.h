#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph/graph.h"

namespace frazil::pass {

/// Which values of a graph differ between the elements of a batch.
class Varying {
 public:
  Varying(const Graph& graph, std::span<const std::size_t> inputs);

  bool value(Value v) const { return v && values_[v.id]; }
  /// True of a node that reads a varying value, in its blocks too, or draws random numbers.
  bool node(NodeId n) const { return nodes_[n.id]; }
  /// True of a varying region whose flow is the same for all elements, so that its blocks can be batched in place.
  bool in_place(NodeId region) const;
  /// True when one of the blocks' results `k` varies.
  bool result(NodeId region, std::size_t k) const;

  /// Where `reader` can read the number that a symbol stands for: an extent. Elements of values are not told: texts
  /// take what they read for extents, and elements may be negative.
  struct Source {
    Value value;
    std::int64_t axis = 0;
  };
  std::optional<Source> source(SymbolId symbol, NodeId reader) const;

 private:
  std::optional<Source> first_extent(SymbolId symbol) const;
  bool is_visible(Value v, NodeId reader) const;
  bool is_of_extents(Value v, NodeId maker) const;
  bool can_tell(Dim d, NodeId maker) const;
  bool visit(NodeId id);
  bool reads_varying(const Node& node) const;
  void mark_owners(const Node& node);
  bool mark_outputs(NodeId id);

  const Graph& graph_;
  std::vector<bool> values_, nodes_;
};

}  // namespace frazil::pass
