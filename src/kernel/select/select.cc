#include "kernel/select/select.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "base/thread/throttled_sort.h"
#include "base/value/extents.h"
#include "kernel/select/select.simd.h"
#include "kernel/simd/isa.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

constexpr int64_t kUnpolled = 1 << 15;  ///< most elements sorted between two polls
constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kHighest = std::numeric_limits<std::int32_t>::max();

int64_t between(const float* x, int64_t n, bool turned, std::int32_t low, std::int32_t high, int64_t first, Rank* out) {
  FRAZIL_DISPATCH(select_between(x, n, turned, low, high, first, out));
}

void maxima_of(const float* x, int64_t n, bool turned, std::int32_t* maxima, int64_t groups) {
  FRAZIL_DISPATCH(select_maxima(x, n, turned, maxima, groups));
}

/// Returns a key that at least k elements of the row reach: the k-th largest of the maxima of disjoint groups.
std::int32_t reached_by(const float* row, int64_t n, int64_t k, bool turned, std::int32_t* maxima) {
  const int64_t groups = round_up(4 * k, 16);
  if (k == 0 || groups > n / 4) return kLowest;
  maxima_of(row, n, turned, maxima, groups);
  std::nth_element(maxima, maxima + k - 1, maxima + groups, std::greater());
  return maxima[k - 1];
}

/// Moves the k greatest ranks to the front, in order. Returns false if the run has to stop.
bool put_best_first(Rank* ranks, int64_t count, int64_t k) {
  const auto sort = [&](auto less) {
    if (k < count) std::nth_element(ranks, ranks + k, ranks + count, less);
    std::sort(ranks, ranks + k, less);
  };
  if (count > kUnpolled) return sort_unless_stopped([&](auto throttled) { sort(throttled(std::greater())); });
  sort(std::greater());
  return true;
}

/// Calls f(elements, mask) with pointers and masks of the elements' width.
template <class F>
auto by_width(const Flags& flags, F f) {
  const auto as = [&]<class T>() { return f(static_cast<const T*>(flags.data), static_cast<T>(flags.mask)); };
  switch (flags.width) {
    case 1: return as.template operator()<std::uint8_t>();
    case 2: return as.template operator()<std::uint16_t>();
    case 4: return as.template operator()<std::uint32_t>();
    default: return as.template operator()<std::uint64_t>();
  }
}

}  // namespace

std::int32_t order_key(float x, bool turned) noexcept {
  const auto b = std::bit_cast<std::int32_t>(x + 0.0f);
  const std::int32_t key = x == x ? b ^ ((b >> 31) & kHighest) : kHighest;
  return turned ? ~key : key;
}

int64_t ranks_between(const float* x, int64_t n, bool turned, std::int32_t low, std::int32_t high, int64_t first,
                      Rank* out) noexcept {
  constexpr int64_t kPiece = int64_t{1} << 16;
  int64_t found = 0;
  for (int64_t at = 0; at < n; at += kPiece) {
    if (at > 0 && stop_requested()) break;
    found += between(x + at, std::min(kPiece, n - at), turned, low, high, first + at, out + found);
  }
  return found;
}

bool top_k(const float* row, int64_t n, int64_t k, bool largest, int64_t* order, Rank* scratch) noexcept {
  const std::int32_t low = reached_by(row, n, k, !largest, reinterpret_cast<std::int32_t*>(scratch));
  const int64_t found = ranks_between(row, n, !largest, low, kHighest, 0, scratch);
  if (found < k || !put_best_first(scratch, found, k)) return false;
  for (int64_t i = 0; i < k; ++i) order[i] = place_of(scratch[i]);
  return true;
}

bool make_heap(Rank* ranks, int64_t n) noexcept {
  if (n > kUnpolled)
    return sort_unless_stopped([&](auto throttled) { std::make_heap(ranks, ranks + n, throttled(std::less())); });
  std::make_heap(ranks, ranks + n);
  return true;
}

int64_t count_set(const Flags& flags, int64_t first, int64_t n) noexcept {
  constexpr int64_t kPiece = int64_t{1} << 16;
  return by_width(flags, [&](const auto* x, auto mask) {
    int64_t found = 0;
    for (int64_t at = first; at < first + n; at += kPiece) {
      if (at > first && stop_requested()) break;
      const int64_t end = std::min(first + n, at + kPiece);
      std::uint32_t here = 0;
      for (int64_t i = at; i < end; ++i) here += (x[i] & mask) != 0;
      found += here;
    }
    return found;
  });
}

void places_set(const Flags& flags, int64_t first, int64_t* out, int64_t found) noexcept {
  by_width(flags, [&](const auto* x, auto mask) {
    PollThrottle throttle;
    for (int64_t i = 0, k = 0; k < found && !throttle.stop(1); ++i) {
      out[k] = i;
      k += (x[first + i] & mask) != 0;
    }
  });
}

bool overlaps_any(const BoxLanes& all, int64_t i, const BoxLanes& kept, int64_t count, float threshold) noexcept {
  FRAZIL_DISPATCH(select_overlap(all, i, kept, count, threshold));
}

}  // namespace frazil::kernel
