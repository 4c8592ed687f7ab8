#pragma once

// How the columns of a product of one row are summed, which kernels and generated code agree on. Compiled for several
// instruction sets: functions defined here have internal linkage.

#include <cstdint>

namespace frazil::kernel {
namespace {

/// Whether C[1,n] = A[1,k] * B[k,n] is summed in chains (row_chains()): always of a B that is packed, and of one whose
/// rows are dense while it has few columns. `lanes`: floats of a vector.
[[gnu::always_inline]] constexpr bool sums_in_chains(std::int64_t n, std::int64_t k, bool packed, int lanes) {
  constexpr std::int64_t kMostDepth = 4096;
  return k > 0 && k <= kMostDepth && (packed || n < 8 * lanes);
}

/// The chains of a column: chain s adds the products of steps s, s + S, ... of k. Then the second half of the chains is
/// added to the first half until one is left.
[[gnu::always_inline]] constexpr int row_chains(std::int64_t n, int lanes) {
  return n >= 4 * lanes ? 2 : n > lanes ? 4 : 8;
}

}  // namespace
}  // namespace frazil::kernel
