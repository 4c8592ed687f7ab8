#include "govern/audit/tree.h"

#include <bit>

#include "govern/base/encoding.h"

namespace frazil::govern {
namespace {

/// Returns the largest power of two below n, at which RFC 6962 splits a tree of n > 1 leaves.
std::uint64_t split_of(std::uint64_t n) { return std::bit_floor(n - 1); }

/// Returns the hash of the leaves [begin, begin + count), where `begin` is a multiple of a power of two >= count.
Digest range_hash(std::uint64_t begin, std::uint64_t count, const SubtreeHash& subtree) {
  if (std::has_single_bit(count)) {
    const auto height = static_cast<unsigned>(std::countr_zero(count));
    return subtree(height, begin >> height);
  }
  const std::uint64_t left = split_of(count);
  return node_hash(range_hash(begin, left, subtree), range_hash(begin + left, count - left, subtree));
}

void add_path(std::vector<Digest>& proof, std::uint64_t index, std::uint64_t begin, std::uint64_t count,
              const SubtreeHash& subtree) {
  if (count == 1) return;
  const std::uint64_t left = split_of(count);
  if (index < left) {
    add_path(proof, index, begin, left, subtree);
    proof.push_back(range_hash(begin + left, count - left, subtree));
  } else {
    add_path(proof, index - left, begin + left, count - left, subtree);
    proof.push_back(range_hash(begin, left, subtree));
  }
}

/// SUBPROOF(old, D[begin:begin+count], whole) of RFC 6962, section 2.1.2.
void add_subproof(std::vector<Digest>& proof, std::uint64_t old, std::uint64_t begin, std::uint64_t count, bool whole,
                  const SubtreeHash& subtree) {
  if (old == count) {
    if (!whole) proof.push_back(range_hash(begin, count, subtree));
    return;
  }
  const std::uint64_t left = split_of(count);
  if (old <= left) {
    add_subproof(proof, old, begin, left, whole, subtree);
    proof.push_back(range_hash(begin + left, count - left, subtree));
  } else {
    add_subproof(proof, old - left, begin + left, count - left, false, subtree);
    proof.push_back(range_hash(begin, left, subtree));
  }
}

/// The two roots that a consistency proof leads to (RFC 9162, section 2.1.4.2).
struct ProofWalk {
  std::uint64_t f, s;  ///< the last leaf of the old and of the new tree
  Digest old_root, root;

  /// Returns false if the proof is longer than it may be.
  bool add(const Digest& hash) {
    if (s == 0) return false;
    if ((f & 1) != 0 || f == s) {
      old_root = node_hash(hash, old_root);
      root = node_hash(hash, root);
      while (f != 0 && (f & 1) == 0) shift();
    } else {
      root = node_hash(root, hash);
    }
    shift();
    return true;
  }
  void shift() {
    f >>= 1;
    s >>= 1;
  }
};

}  // namespace

Digest leaf_hash(std::string_view entry) { return sha256_joined(0, bytes_of(entry)); }
Digest node_hash(const Digest& left, const Digest& right) { return sha256_joined(1, left, right); }
Digest empty_root() { return sha256(std::string_view()); }

Digest root_of(std::uint64_t size, const SubtreeHash& subtree) {
  return size == 0 ? empty_root() : range_hash(0, size, subtree);
}

std::vector<Digest> inclusion_proof(std::uint64_t index, std::uint64_t size, const SubtreeHash& subtree) {
  std::vector<Digest> proof;
  add_path(proof, index, 0, size, subtree);
  return proof;
}

std::vector<Digest> consistency_proof(std::uint64_t old, std::uint64_t size, const SubtreeHash& subtree) {
  std::vector<Digest> proof;
  if (old > 0 && old < size) add_subproof(proof, old, 0, size, true, subtree);
  return proof;
}

std::optional<Digest> root_by_inclusion(const Digest& leaf, std::uint64_t index, std::uint64_t size,
                                        std::span<const Digest> proof) {
  if (index >= size) return std::nullopt;
  std::uint64_t f = index, s = size - 1;
  Digest hash = leaf;
  for (const Digest& sibling : proof) {
    if (s == 0) return std::nullopt;
    if ((f & 1) != 0 || f == s) {
      hash = node_hash(sibling, hash);
      for (; f != 0 && (f & 1) == 0; s >>= 1) f >>= 1;
    } else {
      hash = node_hash(hash, sibling);
    }
    f >>= 1;
    s >>= 1;
  }
  return s == 0 ? std::optional(hash) : std::nullopt;
}

bool is_consistent(std::uint64_t old, const Digest& old_root, std::uint64_t size, const Digest& root,
                   std::span<const Digest> proof) {
  if (old > size) return false;
  if (old == size) return proof.empty() && old_root == root;
  if (old == 0) return proof.empty() && old_root == empty_root();
  if (!std::has_single_bit(old) && proof.empty()) return false;
  const Digest first = std::has_single_bit(old) ? old_root : proof[0];
  if (!std::has_single_bit(old)) proof = proof.subspan(1);
  ProofWalk walk{.f = old - 1, .s = size - 1, .old_root = first, .root = first};
  while ((walk.f & 1) != 0) walk.shift();
  for (const Digest& hash : proof) {
    if (!walk.add(hash)) return false;
  }
  return walk.s == 0 && walk.old_root == old_root && walk.root == root;
}

Digest complete_root(std::span<const Digest> leaves) {
  std::vector<Digest> row(leaves.begin(), leaves.end());
  for (; row.size() > 1; row.resize(row.size() / 2)) {
    for (std::size_t i = 0; i < row.size() / 2; ++i) row[i] = node_hash(row[2 * i], row[2 * i + 1]);
  }
  return row[0];
}

TreeEdge::TreeEdge(std::uint64_t size, const SubtreeHash& subtree) : size_(size) {
  std::uint64_t begin = 0;
  for (unsigned height = 64; height-- > 0;) {
    if ((size >> height & 1) == 0) continue;
    peaks_.push_back(subtree(height, begin >> height));
    begin += std::uint64_t{1} << height;
  }
}

void TreeEdge::append(const Digest& leaf) {
  Digest hash = leaf;
  for (std::uint64_t bits = size_; (bits & 1) != 0; bits >>= 1) {
    hash = node_hash(peaks_.back(), hash);
    peaks_.pop_back();
  }
  peaks_.push_back(hash);
  ++size_;
}

Digest TreeEdge::root() const {
  if (peaks_.empty()) return empty_root();
  Digest hash = peaks_.back();
  for (std::size_t i = peaks_.size() - 1; i-- > 0;) hash = node_hash(peaks_[i], hash);
  return hash;
}

}  // namespace frazil::govern
