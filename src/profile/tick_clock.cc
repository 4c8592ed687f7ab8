#include "profile/tick_clock.h"

#include <algorithm>
#include <vector>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

namespace frazil::profile {

std::uint64_t ticks() {
#ifdef __x86_64__
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

namespace {

/// Returns the median ticks between two clock reads.
std::uint64_t cost_of_clock() {
  constexpr int kLooks = 256;
  std::vector<std::uint64_t> between;
  for (int i = 0; i < kLooks; ++i) {
    const std::uint64_t begin = ticks();
    between.push_back(ticks() - begin);
  }
  std::ranges::nth_element(between, between.begin() + kLooks / 2);
  return between[kLooks / 2];
}

}  // namespace

TickClock::TickClock()
    : ticks_per_read_(cost_of_clock()), start_ticks_(ticks()), start_time_(std::chrono::steady_clock::now()) {}

double TickClock::ns_per_tick() const {
  const auto ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start_time_).count();
  return ns / static_cast<double>(ticks() - start_ticks_);
}

double TickClock::ns_of(std::uint64_t total, std::uint64_t intervals, double ns_per_tick) const {
  const std::uint64_t reads = intervals * ticks_per_read_;
  return static_cast<double>(total - std::min(total, reads)) * ns_per_tick;
}

}  // namespace frazil::profile
