#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "plan/model/kernel_params.h"

namespace frazil {

/// A contraction as parameters of the kernel that serves any space.
struct BoundContraction {
  params::Contraction params;
  std::vector<Dim> domain;
};

/// The limits of the kernel.
inline constexpr std::size_t kMaxSpaceAxes = 12;  ///< of the space, and of an operand
inline constexpr std::size_t kMaxSpaceOperands = 4;
inline constexpr std::size_t kMaxSpaceFolds = 2;
inline constexpr std::size_t kMaxSpaceInstructions = 24;

/// Binds a contraction to the kernel. Returns nullopt for other nodes, for extents that are known only at run time, and
/// for types or sizes that the kernel does not accept.
std::optional<BoundContraction> bind_contraction(const Graph& graph, NodeId id);

}  // namespace frazil
