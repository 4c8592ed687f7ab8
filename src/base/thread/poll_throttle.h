#pragma once

#include <cstdint>

namespace frazil {

/// Returns whether the run on this thread was cancelled or has passed its deadline. Long kernels call it at least once
/// per millisecond of work and return if it is true; their output is then discarded. Costs a few nanoseconds, and a
/// clock read if there is a deadline.
bool stop_requested() noexcept;

/// Limits how often a loop of small work items calls stop_requested().
class PollThrottle {
 public:
  /// Returns true if the kernel must return. `work` is the approximate number of elements read or written since the
  /// last call.
  [[gnu::always_inline]] bool stop(std::int64_t work) noexcept {
    done_ += work;
    if (done_ < kWork) [[likely]]
      return false;
    done_ = 0;
    return stop_requested();
  }

 private:
  static constexpr std::int64_t kWork = std::int64_t{1} << 16;
  std::int64_t done_ = 0;
};

}  // namespace frazil
