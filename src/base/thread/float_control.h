#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace frazil {

/// The control state of the current thread's floating-point unit: rounding, flushing of subnormal numbers, masked
/// traps. It excludes the exception flags. On processors other than x86 and AArch64 it is the rounding mode alone.
class FloatControl {
 public:
  /// Returns the current thread's state.
  static FloatControl current() noexcept { return FloatControl(read() & kControl); }
  /// Makes this the current thread's state. The exception flags stay.
  void apply() const noexcept {
    const Word now = read();
    if ((now & kControl) != word_) write((now & ~kControl) | word_);
  }
  friend bool operator==(FloatControl, FloatControl) = default;

 private:
#if defined(__SSE__)
  using Word = std::uint32_t;
  static constexpr Word kControl = 0xffc0;  // the lower six bits are flags
  static Word read() noexcept { return _mm_getcsr(); }
  static void write(Word word) noexcept { _mm_setcsr(word); }
#elif defined(__aarch64__)
  using Word = std::uint64_t;
  static constexpr Word kControl = ~Word{0};
  static Word read() noexcept {
    Word word;
    asm volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  static void write(Word word) noexcept { asm volatile("msr fpcr, %0" : : "r"(word)); }
#else
  using Word = unsigned;
  static constexpr Word kControl = ~Word{0};
  static Word read() noexcept { return static_cast<Word>(std::fegetround()); }
  static void write(Word word) noexcept { std::fesetround(static_cast<int>(word)); }
#endif

  explicit FloatControl(Word word) noexcept : word_(word) {}

  Word word_;
};

/// A scope in which its thread uses `control`. The destructor restores the earlier state.
class FloatControlScope {
 public:
  explicit FloatControlScope(FloatControl control) noexcept { control.apply(); }
  ~FloatControlScope() { before_.apply(); }
  FloatControlScope(const FloatControlScope&) = delete;
  FloatControlScope& operator=(const FloatControlScope&) = delete;

 private:
  FloatControl before_ = FloatControl::current();
};

}  // namespace frazil
