#pragma once

#include <cstdint>

namespace frazil {

/// Whether the run on this thread was cancelled or is past its deadline. Long kernels call it at least once in a
/// millisecond of work and return at once when it is true: what they leave behind is not read. Costs a few
/// nanoseconds; with a deadline, one reading of the clock.
bool stop_requested() noexcept;

/// Limits how often a loop of small work items calls stop_requested().
class PollThrottle {
 public:
  /// True when the kernel has to return. `work`: the elements read or written since the last call, approximately.
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
