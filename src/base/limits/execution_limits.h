#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/limits/limits.h"
#include "base/thread/poll_throttle.h"
#include "base/value/error.h"

namespace frazil {

/// Bytes in use against a limit. Thread-safe.
class MemoryMeter {
 public:
  /// False, and nothing is charged, when the limit would be passed.
  bool charge(std::size_t bytes) noexcept;
  /// Charges whatever the limit is.
  void add(std::size_t bytes) noexcept { used_.fetch_add(bytes, std::memory_order_relaxed); }
  void release(std::size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  void set_limit(std::size_t bytes) noexcept { limit_.store(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> used_{0}, limit_{SIZE_MAX};
};

/// Bytes charged to a meter for as long as this lives.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  /// On the meter of the current thread's ExecutionLimits; without one nothing is charged. Code::limit, in the words "N
  /// more bytes would pass ...", when the limit would be passed.
  static Result<MemoryCharge> make(std::size_t bytes);
  MemoryCharge(MemoryCharge&& other) noexcept;
  MemoryCharge& operator=(MemoryCharge&& other) noexcept;
  ~MemoryCharge() { release(); }

  /// Charges more; Code::limit as above.
  Status grow(std::size_t bytes);
  /// Charges more, whether or not the limit allows it.
  void add(std::size_t bytes) noexcept;
  /// Ends the charge; safe from any thread.
  void release() noexcept;

 private:
  std::shared_ptr<MemoryMeter> meter_;
  std::atomic<std::size_t> bytes_{0};
};

/// Holds the runs of one session, or one load, to its limits. One run at a time; cancel() from any thread. All threads
/// that work for the run may call stopping(), poll() and count_text() and charge the meter at once; the rest is for the
/// session's own thread, which also tells the reason once the others are done.
class ExecutionLimits {
 public:
  ExecutionLimits() : meter_(std::make_shared<MemoryMeter>()) {}
  explicit ExecutionLimits(const Limits& limits) : ExecutionLimits() { begin(limits); }
  ExecutionLimits(const ExecutionLimits&) = delete;
  ExecutionLimits& operator=(const ExecutionLimits&) = delete;

  /// A run begins: steps and time count from here, an earlier cancel() is forgotten. One that begins inside of another,
  /// on a thread that is held to that one's limits, also stops when that one has to.
  void begin(const Limits& limits);
  /// Makes the run in progress stop.
  void cancel() noexcept { stop_.store(Stop::cancelled, std::memory_order_relaxed); }

  /// Whether the run has to stop, as far as is known.
  bool stopping() const noexcept { return stop_.load(std::memory_order_relaxed) != Stop::none; }
  /// The same after a look at the clock.
  bool poll() noexcept;
  /// Counts text that a string of a tensor under construction is going to hold. False: the memory limit would be
  /// passed, the string stays empty and the run stops.
  bool count_text(std::size_t bytes) noexcept;
  /// The tensors under construction are done, and what they hold is charged to the meter.
  void text_charged() noexcept { text_.store(0, std::memory_order_relaxed); }
  /// Why the run has to stop: Code::cancelled, or Code::limit. The first cause that any thread met counts, but cancel()
  /// always does.
  std::unexpected<Fault> reason() const;
  /// Takes one step.
  Status spend();

  /// The number of a stream of random numbers that nothing before has drawn from.
  std::uint64_t next_stream() noexcept { return streams_++; }
  /// How many streams were drawn from.
  std::uint64_t streams() const noexcept { return streams_; }
  /// The next stream is number `streams`: what drew from those behind it is done again, or a session begins there.
  void rewind_streams(std::uint64_t streams) noexcept { streams_ = streams; }

  const Limits& limits() const noexcept { return limits_; }
  const std::shared_ptr<MemoryMeter>& meter() const noexcept { return meter_; }

  /// The limits that apply to the current thread; null: none.
  static ExecutionLimits* current() noexcept;

 private:
  enum class Stop : std::uint8_t { none, cancelled, late, too_much_text, outer };
  /// The first cause counts, but for cancel(), which always does.
  void stop(Stop cause) noexcept;

  Limits limits_;
  ExecutionLimits* outer_ = nullptr;  ///< of the run around this one; valid until this one ends
  std::shared_ptr<MemoryMeter> meter_;
  std::atomic<Stop> stop_{Stop::none};
  std::atomic<std::size_t> text_ = 0;
  std::uint64_t steps_left_ = 0;
  std::uint64_t streams_ = 0;
  std::chrono::steady_clock::time_point deadline_{};
};

/// While it lives, what its thread does is held to `execution_limits`; null lifts the limits.
class LimitsScope {
 public:
  explicit LimitsScope(ExecutionLimits* execution_limits) noexcept;
  ~LimitsScope();
  LimitsScope(const LimitsScope&) = delete;
  LimitsScope& operator=(const LimitsScope&) = delete;

 private:
  ExecutionLimits* before_;
};

/// to = from, for a string of a tensor under construction. Text is counted here because the memory of a string is not
/// that of its tensor.
void assign_text(std::string& to, const std::string& from);

}  // namespace frazil
