#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "govern/base/digest.h"

// The Merkle tree of RFC 6962, section 2.1, and the checks of RFC 9162, sections 2.1.3.2 and 2.1.4.2.
namespace frazil::govern {

/// Returns SHA-256(0x00 || entry).
Digest leaf_hash(std::string_view entry);
/// Returns SHA-256(0x01 || left || right).
Digest node_hash(const Digest& left, const Digest& right);
/// Returns the root of the tree without leaves: the digest of no bytes.
Digest empty_root();

/// Returns the root of the complete subtree over the leaves [index << height, (index + 1) << height).
using SubtreeHash = std::function<Digest(unsigned height, std::uint64_t index)>;

Digest root_of(std::uint64_t size, const SubtreeHash& subtree);
/// Returns the hashes from the leaf's sibling to the child of the root. Requires index < size.
std::vector<Digest> inclusion_proof(std::uint64_t index, std::uint64_t size, const SubtreeHash& subtree);
/// Returns the proof that the first `old` of `size` leaves are those of the tree of size `old`. It has no hashes if
/// old is 0 or equals size. Requires old <= size.
std::vector<Digest> consistency_proof(std::uint64_t old, std::uint64_t size, const SubtreeHash& subtree);

/// Returns the root that an inclusion proof leads to, or nullopt if the proof has another length than it must have.
std::optional<Digest> root_by_inclusion(const Digest& leaf, std::uint64_t index, std::uint64_t size,
                                        std::span<const Digest> proof);
bool is_consistent(std::uint64_t old, const Digest& old_root, std::uint64_t size, const Digest& root,
                   std::span<const Digest> proof);

/// Returns the root of a complete subtree from its leaves, whose count is a power of two.
Digest complete_root(std::span<const Digest> leaves);

/// The right edge of a growing tree: the roots of its complete subtrees, at most 64.
class TreeEdge {
 public:
  TreeEdge() = default;
  /// Restores the edge of a tree of `size` leaves.
  TreeEdge(std::uint64_t size, const SubtreeHash& subtree);
  void append(const Digest& leaf);
  std::uint64_t size() const { return size_; }
  Digest root() const;

 private:
  std::vector<Digest> peaks_;  ///< from the largest subtree to the smallest
  std::uint64_t size_ = 0;
};

}  // namespace frazil::govern
