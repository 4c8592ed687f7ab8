#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/limits/limits.h"
#include "base/thread/poll_throttle.h"
#include "base/value/error.h"

namespace frazil {

/// The bytes in use, and a limit for them. Thread-safe.
class MemoryMeter {
 public:
  /// Charges `bytes`. Returns false and charges nothing if the limit would be exceeded.
  bool charge(std::size_t bytes) noexcept;
  /// Charges `bytes` regardless of the limit.
  void add(std::size_t bytes) noexcept { used_.fetch_add(bytes, std::memory_order_relaxed); }
  void release(std::size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  void set_limit(std::size_t bytes) noexcept { limit_.store(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> used_{0}, limit_{SIZE_MAX};
};

/// Bytes charged to a meter for the lifetime of this object.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  /// Charges the meter of the current thread's ExecutionLimits. Without one, charges nothing. Returns Code::limit, with
  /// the message "N more bytes would exceed ...", if the limit would be exceeded.
  static Result<MemoryCharge> make(std::size_t bytes);
  MemoryCharge(MemoryCharge&& other) noexcept;
  MemoryCharge& operator=(MemoryCharge&& other) noexcept;
  ~MemoryCharge() { release(); }

  /// Charges more bytes. Returns Code::limit as make() does.
  Status grow(std::size_t bytes);
  /// Charges more bytes regardless of the limit.
  void add(std::size_t bytes) noexcept;
  /// Ends the charge. Callable from any thread.
  void release() noexcept;

 private:
  std::shared_ptr<MemoryMeter> meter_;
  std::atomic<std::size_t> bytes_{0};
};

/// The limits of the runs of one session, or of one load. One run at a time; cancel() is callable from any thread. All
/// threads that work for the run may concurrently call stopping(), poll() and count_text() and charge the meter. All
/// else is for the session's own thread, which calls reason() after the other threads have finished.
class ExecutionLimits {
 public:
  ExecutionLimits() : meter_(std::make_shared<MemoryMeter>()) {}
  explicit ExecutionLimits(const Limits& limits) : ExecutionLimits() { begin(limits); }
  ExecutionLimits(const ExecutionLimits&) = delete;
  ExecutionLimits& operator=(const ExecutionLimits&) = delete;

  /// Begins a run. Steps and time count from here, and earlier calls of cancel() are forgotten. A run that begins
  /// inside another one, on a thread under that one's limits, also stops when the other must stop.
  void begin(const Limits& limits);
  /// Makes the run in progress stop.
  void cancel() noexcept { stop_.store(Stop::cancelled, std::memory_order_relaxed); }

  /// Returns whether the run must stop, without checking the clock.
  bool stopping() const noexcept { return stop_.load(std::memory_order_relaxed) != Stop::none; }
  /// Same, but checks the clock first.
  bool poll() noexcept;
  /// Counts text that a string of a tensor under construction will hold. Returns false and stops the run if the memory
  /// limit would be exceeded; the string then stays empty.
  bool count_text(std::size_t bytes) noexcept;
  /// Resets the counted text: the tensors under construction are complete, and their text is charged to the meter.
  void text_charged() noexcept { text_.store(0, std::memory_order_relaxed); }
  /// Returns why the run must stop: Code::cancelled or Code::limit. The first cause that any thread met is kept, but
  /// cancel() overrides it.
  std::unexpected<Fault> reason() const;
  /// Uses up one step. Returns the fault if the run must stop.
  Status consume_step();

  /// Returns the number of a stream of random numbers that was not used before.
  std::uint64_t next_stream() noexcept { return streams_++; }
  /// Returns how many streams were used.
  std::uint64_t streams() const noexcept { return streams_; }
  /// Sets the number of the next stream, to repeat draws from later streams or to begin a session.
  void rewind_streams(std::uint64_t streams) noexcept { streams_ = streams; }

  const Limits& limits() const noexcept { return limits_; }
  /// Returns when the run must have ended; nullopt without a limit.
  std::optional<std::chrono::steady_clock::time_point> deadline() const noexcept {
    return limits_.time ? std::optional(deadline_) : std::nullopt;
  }
  /// Attaches a value of the program to the runs, for the program's operators.
  void set_context(std::shared_ptr<void> context) { context_ = std::move(context); }
  const std::shared_ptr<void>& context() const noexcept { return context_; }
  /// Attaches what calls of other models need: the models by name and the policies, in a form that the setter defines.
  void set_caller(std::shared_ptr<const void> caller) { caller_ = std::move(caller); }
  const std::shared_ptr<const void>& caller() const noexcept { return caller_; }
  const std::shared_ptr<MemoryMeter>& meter() const noexcept { return meter_; }

  /// Returns the limits that apply to the current thread; null if there are none.
  static ExecutionLimits* current() noexcept;

 private:
  enum class Stop : std::uint8_t { none, cancelled, late, too_much_text, outer };
  /// Stops the run. The first cause is kept, but cancel() overrides it.
  void stop(Stop cause) noexcept;

  Limits limits_;
  std::shared_ptr<void> context_;
  std::shared_ptr<const void> caller_;
  ExecutionLimits* outer_ = nullptr;  ///< limits of the enclosing run; valid until this run ends
  std::shared_ptr<MemoryMeter> meter_;
  std::atomic<Stop> stop_{Stop::none};
  std::atomic<std::size_t> text_ = 0;
  std::uint64_t steps_left_ = 0;
  std::uint64_t streams_ = 0;
  std::chrono::steady_clock::time_point deadline_{};
};

/// A scope in which `execution_limits` apply to its thread. Null lifts the limits.
class LimitsScope {
 public:
  explicit LimitsScope(ExecutionLimits* execution_limits) noexcept;
  ~LimitsScope();
  LimitsScope(const LimitsScope&) = delete;
  LimitsScope& operator=(const LimitsScope&) = delete;

 private:
  ExecutionLimits* before_;
};

/// Assigns `from` to `to`, a string of a tensor under construction. Counts the text, because the memory of a string is
/// not part of the memory of its tensor.
void assign_text(std::string& to, const std::string& from);

}  // namespace frazil
