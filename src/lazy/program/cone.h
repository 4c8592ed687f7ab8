#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lazy/record/node.h"

namespace frazil::lazy {

/// The work that some values need: pending nodes, and the computed values that these start from.
struct Cone {
  std::vector<Node*> nodes;  ///< inputs before their users
  std::vector<Ref> leaves;   ///< computed values, in order of first use
  std::vector<Ref> results;  ///< the wanted values first, then others that are used outside of the cone
  /// Cones with equal keys share one program. The key contains the operations and their connections, and the element
  /// types and ranks of leaves. It contains which of their extents are 0, 1 or equal, all extents of literals, and the
  /// identity of parameters.
  std::vector<std::uint64_t> key;
  std::vector<std::uint64_t> literals;  ///< elements of the leaves that are literals

  void clear();
};

/// The largest size of a cone to collect.
struct ConeSize {
  std::size_t nodes;
  std::size_t calls = ~std::size_t{0};  ///< calls of functions, among the nodes
};

/// Collects the cone of `wanted`. Returns false, with an incomplete cone, if it is larger than `most`.
bool collect(std::span<const Ref> wanted, const ConeSize& most, Cone& cone);

/// Collects the cone of a part of the pending nodes. Each input of `nodes` must be computed or come from an earlier one
/// of them. Results are the values that other nodes or handles use.
void collect_part(std::span<Node* const> nodes, Cone& cone);

/// Returns whether the results of the nodes whose types are known take 64 MiB or more. If so, a program holds fewer of
/// them at a time than a run node by node, because it plans its memory.
bool has_large_results(std::span<Node* const> nodes);

/// Returns a number with which no walk of any thread has marked nodes yet.
std::uint32_t next_mark();

}  // namespace frazil::lazy
