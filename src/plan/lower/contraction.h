#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "plan/model/kernel_params.h"

namespace frazil {

/// A contraction for the kernel that serves any space.
struct BoundContraction {
  params::Contraction params;
  std::vector<Dim> domain;
};

/// What the kernel has room for.
inline constexpr std::size_t kMaxSpaceAxes = 12;  ///< of the space, and of an operand
inline constexpr std::size_t kMaxSpaceOperands = 4;
inline constexpr std::size_t kMaxSpaceFolds = 2;
inline constexpr std::size_t kMaxSpaceInstructions = 24;

/// Nothing for nodes that are no contraction, that tell extents only when they run, or whose types or sizes the kernel
/// does not take.
std::optional<BoundContraction> bind_contraction(const Graph& graph, NodeId id);

}  // namespace frazil
