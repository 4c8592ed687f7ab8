#include "code/abi/abi.h"

#include <thread>

#include <fmt/format.h>

namespace frazil::code {

void FaultSlot::report(std::int64_t unit, const char* text, std::int64_t first, std::int64_t second) noexcept {
  if (unit_.load(std::memory_order_relaxed) <= unit) return;
  while (writing_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  if (unit < unit_.load(std::memory_order_relaxed)) {
    text_ = text;
    first_ = first;
    second_ = second;
    unit_.store(unit, std::memory_order_release);
  }
  writing_.clear(std::memory_order_release);
}

std::unexpected<Fault> FaultSlot::take() noexcept {
  unit_.store(kNone, std::memory_order_relaxed);
  return fail(Code::bad_input, "{} ({}, {})", text_, first_, second_);
}

}  // namespace frazil::code
