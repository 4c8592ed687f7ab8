#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace frazil {

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

  /// Where the number that a symbol stands for can be read: an extent, or an element of a value that does not vary.
  struct Source {
    Value value;
    std::int64_t index = 0;
    bool element = false;
  };
  std::optional<Source> source(SymbolId symbol) const;
  /// True of integers or bools that are made of extents alone, which all elements share.
  bool is_of_extents(Value v) const;

 private:
  bool visit(NodeId id);
  bool reads_varying(const Node& node) const;
  void mark_owners(const Node& node);
  bool mark_outputs(NodeId id);

  const Graph& graph_;
  std::vector<bool> values_, nodes_;
};

}  // namespace frazil
