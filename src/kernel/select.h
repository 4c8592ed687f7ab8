#pragma once

#include <cstdint>
#include <span>

namespace frazil::kernel {

/// Numbers are ordered as these are: NaN, all of them alike, is above infinity, and -0 is 0. Turned: the other way
/// round.
std::int32_t order_key(float x, bool turned) noexcept;

/// A number and its place in one word: the greater of two has the greater key or, of equal ones, the lower place.
using Rank = std::uint64_t;
inline std::int64_t place_of(Rank rank) { return static_cast<std::uint32_t>(~rank); }

/// Ranks of the elements whose keys lie in [low, high], in the order of their places; how many there are. Places count
/// from `first`, and end below 2^32. `out` has room for n.
std::int64_t ranks_between(const float* x, std::int64_t n, bool turned, std::int32_t low, std::int32_t high,
                           std::int64_t first, Rank* out) noexcept;

/// order[0, k): the places of the k largest of row[n], or the smallest, best first; 0 <= k <= n < 2^32. False: the run
/// has to stop. `scratch` has room for n ranks.
bool top_k(const float* row, std::int64_t n, std::int64_t k, bool largest, std::int64_t* order, Rank* scratch) noexcept;

/// Elements of `width` bytes (1, 2, 4 or 8), of which those count that share a bit with `mask`.
struct Flags {
  const void* data = nullptr;
  std::int64_t width = 1;
  std::uint64_t mask = ~std::uint64_t{0};
};
/// How many of [first, first + n) count.
std::int64_t count_set(const Flags& flags, std::int64_t first, std::int64_t n) noexcept;
/// out[0, found): the places of the first `found` that count from `first` on, less `first`.
void places_set(const Flags& flags, std::int64_t first, std::int64_t* out, std::int64_t found) noexcept;

/// The greatest rank becomes the first, in a heap of the standard library. False: the run has to stop.
bool make_heap(Rank* ranks, std::int64_t n) noexcept;

/// Boxes by coordinate, lower ones first, and their areas.
struct BoxLanes {
  float *y0, *x0, *y1, *x1, *area;
};
/// Whether box `i` of `all` shares more than `threshold` with one of the first `count` of `kept`: what both cover over
/// what either does. Boxes without an area cover nothing.
bool overlaps_any(const BoxLanes& all, std::int64_t i, const BoxLanes& kept, std::int64_t count,
                  float threshold) noexcept;

}  // namespace frazil::kernel
