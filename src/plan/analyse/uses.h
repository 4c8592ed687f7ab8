#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph/graph.h"
#include "plan/analyse/needs.h"

namespace frazil {

/// The users of each value, as seen from the block that defines it.
class ValueUses {
 public:
  struct Use {
    NodeId user;  ///< a node in the value's block: for a use inside a region, that region; none: a block result
    std::uint32_t position;  ///< of the user in that block; ~0 for block results
  };

  ValueUses(const Graph& graph, const Needs& needs);
  const std::vector<Use>& of(Value v) const { return uses_[v.id]; }
  /// Returns the position of a node in its block.
  std::uint32_t position(NodeId n) const { return position_[n.id]; }

 private:
  void add(const Graph& graph, Value v, BlockId block, NodeId user);
  std::vector<std::vector<Use>> uses_;   // per value
  std::vector<std::uint32_t> position_;  // per node
};

}  // namespace frazil
