#pragma once

#include <cstdint>
#include <span>

namespace frazil::kernel {

/// Returns the sort key of x: numbers compare as their keys do. All NaNs are equal and above infinity, and -0 equals 0.
/// `turned` gives descending order.
std::int32_t order_key(float x, bool turned) noexcept;

/// A key and a position in one word. The greater of two ranks has the greater key or, for equal keys, the lower
/// position.
using Rank = std::uint64_t;
inline std::int64_t place_of(Rank rank) { return static_cast<std::uint32_t>(~rank); }

/// Writes the ranks of the elements with keys in [low, high], in the order of their positions, and returns their
/// number. Positions start at `first` and must be below 2^32. `out` has capacity for n.
std::int64_t ranks_between(const float* x, std::int64_t n, bool turned, std::int32_t low, std::int32_t high,
                           std::int64_t first, Rank* out) noexcept;

/// Writes to order[0, k) the positions of the k largest (or smallest) elements of row[n], best first; 0 <= k <= n <
/// 2^32. Returns false if the run has to stop. `scratch` has capacity for n ranks.
bool top_k(const float* row, std::int64_t n, std::int64_t k, bool largest, std::int64_t* order, Rank* scratch) noexcept;

/// Elements of `width` bytes (1, 2, 4 or 8). An element is set if it shares a bit with `mask`.
struct Flags {
  const void* data = nullptr;
  std::int64_t width = 1;
  std::uint64_t mask = ~std::uint64_t{0};
};
/// Returns the number of set elements in [first, first + n).
std::int64_t count_set(const Flags& flags, std::int64_t first, std::int64_t n) noexcept;
/// Writes to out[0, found) the positions, relative to `first`, of the first `found` set elements from `first` on.
void places_set(const Flags& flags, std::int64_t first, std::int64_t* out, std::int64_t found) noexcept;

/// Makes a max-heap like std::make_heap. Returns false if the run has to stop.
bool make_heap(Rank* ranks, std::int64_t n) noexcept;

/// Boxes as one array per coordinate, lower ones first, and one of their areas.
struct BoxLanes {
  float *y0, *x0, *y1, *x1, *area;
};
/// Returns whether the intersection over union of box `i` of `all` and one of the first `count` boxes of `kept` exceeds
/// `threshold`. Boxes without an area overlap nothing.
bool overlaps_any(const BoxLanes& all, std::int64_t i, const BoxLanes& kept, std::int64_t count,
                  float threshold) noexcept;

}  // namespace frazil::kernel
