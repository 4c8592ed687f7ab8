#pragma once

#include <chrono>
#include <cstdint>

namespace frazil::profile {

/// Returns ticks of a steady clock: the processor's counter if it has one, else nanoseconds.
std::uint64_t ticks();

/// The length of a tick, and the cost of reading ticks(). Measures the length from its construction on.
class TickClock {
 public:
  TickClock();

  /// Returns ticks() at construction.
  std::uint64_t start() const { return start_ticks_; }
  /// Returns the median ticks between two reads, which each measured interval includes.
  std::uint64_t ticks_per_read() const { return ticks_per_read_; }
  double ns_per_tick() const;
  /// Returns the nanoseconds of `total` ticks in `intervals` measured intervals, excluding clock reads. `ns_per_tick`
  /// is a result of ns_per_tick(), which grows more exact; one report uses one result.
  double ns_of(std::uint64_t total, std::uint64_t intervals, double ns_per_tick) const;

 private:
  std::uint64_t ticks_per_read_;
  std::uint64_t start_ticks_;
  std::chrono::steady_clock::time_point start_time_;
};

}  // namespace frazil::profile
