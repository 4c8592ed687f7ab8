#pragma once

#include <cstdint>

namespace frazil {

/// Whether the run on this thread was cancelled or is past its deadline. Long kernels ask it, at least once in a
/// millisecond of work, and return at once when it is true: what they leave behind is not read. Costs a few
/// nanoseconds, with a deadline a look at the clock.
bool stop_requested() noexcept;

/// Asks for a kernel whose pieces of work are too small to ask after each.
class Pace {
 public:
  /// True when the kernel has to return. `work`: about how many elements were read or written since the last call.
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
