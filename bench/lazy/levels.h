#pragma once

#include "bench/lazy/workloads.h"

namespace bench::lazy {

/// The nodes of several trees sorted by height, for computing all nodes of a height together. Inner nodes are rows,
/// lowest first. Row r reads its operands from positions 2r and 2r + 1. Each node writes its value where its parent
/// reads it; the root of tree t writes to position 2 rows + t.
struct Levels {
  std::vector<std::int32_t> leaf_word, leaf_place;
  std::vector<std::int32_t> row_place;
  std::vector<std::int32_t> begin;  ///< rows of height h + 1: [begin[h], begin[h + 1])

  std::int64_t leaves() const { return static_cast<std::int64_t>(leaf_word.size()); }
  std::int64_t rows() const { return static_cast<std::int64_t>(row_place.size()); }
  std::int64_t max_rows() const;  ///< rows of the largest level

  /// Computes the levels. Keeps its memory between calls.
  void assign(std::span<const Tree> trees);

 private:
  std::vector<std::int32_t> heights_, places_;
};

}  // namespace bench::lazy
