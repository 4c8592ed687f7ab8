#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lazy/record/node.h"

namespace frazil::lazy {

/// What must run for some values: pending nodes, and the values that they start from.
struct Cone {
  std::vector<Node*> nodes;  ///< inputs before their users
  std::vector<Ref> leaves;   ///< values that are there, in order of first use
  std::vector<Ref> results;  ///< those that were asked for first, then others that are used outside of the cone
  /// Two cones with equal keys are one program: operations, how they are joined, element types and ranks of leaves,
  /// which of their extents are 0, 1 or equal, all extents of literals, and which parameters they are.
  std::vector<std::uint64_t> key;
  std::vector<std::uint64_t> literals;  ///< elements of the leaves that are literals

  void clear();
};

/// How large a cone may be.
struct ConeSize {
  std::size_t nodes;
  std::size_t calls = ~std::size_t{0};  ///< of functions, among the nodes
};

/// Collects the cone of `wanted`. False, with an incomplete cone, where it is larger than `most`.
bool collect(std::span<const Ref> wanted, const ConeSize& most, Cone& cone);

/// A part of what is pending: `nodes` in order, of which each input is there or comes from a node before. Results are
/// those that others use.
void collect_part(std::span<Node* const> nodes, Cone& cone);

/// Whether the results of the nodes, as far as their types are known, take 64 MiB or more: a program, which plans its
/// memory, then holds fewer of them at a time than a run node by node.
bool has_large_results(std::span<Node* const> nodes);

/// A number that no walk of any thread has marked nodes with.
std::uint32_t next_mark();

}  // namespace frazil::lazy
