#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace frazil {

/// Names the values of a graph by what computes them: operators, attributes, weights, inputs. Where two graphs were
/// made from one model, values of equal names are equal in the same request. A value that draws random numbers is named
/// after its node as well, a param of a region after the region's node and inputs.
class ValueNames {
 public:
  explicit ValueNames(const Graph& graph);
  std::uint64_t of(Value v) const { return names_[v.id]; }
  /// Of a symbol that is read from a value or from its extents.
  std::optional<std::uint64_t> of_symbol(SymbolId symbol) const;

 private:
  friend class ValueNaming;
  const Graph& graph_;
  std::vector<std::uint64_t> names_;
};

/// True for a node whose results may differ from run to run.
bool draws_random_numbers(const Graph& graph, NodeId id);

}  // namespace frazil
