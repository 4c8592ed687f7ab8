#pragma once

// The order in which columns of a product of one row are summed. Kernels and generated code must agree on it. Compiled
// for several instruction sets: functions defined here have internal linkage.

#include <cstdint>

namespace frazil::kernel {
namespace {

/// Returns whether C[1,n] = A[1,k] * B[k,n] is summed in chains (row_chains()). It is if k is at most kMaxDepth
/// and B is packed, or has dense rows and few columns. `lanes` is the number of floats in a vector.
[[gnu::always_inline]] constexpr bool sums_in_chains(std::int64_t n, std::int64_t k, bool packed, int lanes) {
  constexpr std::int64_t kMaxDepth = 4096;
  return k > 0 && k <= kMaxDepth && (packed || n < 8 * lanes);
}

/// Returns the number of chains of a column. Chain s adds the products of steps s, s + S, ... of k. Then the second
/// half of the chains is added to the first half until one is left.
[[gnu::always_inline]] constexpr int row_chains(std::int64_t n, int lanes) {
  return n >= 4 * lanes ? 2 : n > lanes ? 4 : 8;
}

}  // namespace
}  // namespace frazil::kernel
