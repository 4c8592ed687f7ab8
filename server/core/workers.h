#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "server/core/busy.h"

namespace frazil::server {

/// Allows a thread that reads requests to run one of them itself. Of several requests that arrive together it runs at
/// most one; the others are for workers. Used on that thread only.
class InlineRunSlot {
 public:
  /// `later` must call its argument on this thread, after everything that has already arrived.
  explicit InlineRunSlot(std::function<void(std::function<void()>)> later) : later_(std::move(later)) {}
  /// Returns true if the thread may run a request now.
  bool take() {
    if (std::exchange(taken_, true)) return false;
    later_([this] { taken_ = false; });
    return true;
  }

 private:
  std::function<void(std::function<void()>)> later_;
  bool taken_ = false;
};

/// The threads that run requests. Thread-safe.
class Workers {
 public:
  explicit Workers(unsigned threads);
  /// Waits for posted functions and timers.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  unsigned count() const { return count_; }
  /// `function` must not throw.
  void post(std::function<void()> function);
  void post_at(std::chrono::steady_clock::time_point when, std::function<void()> function);
  /// Runs a function on this thread, which may be any thread, and then everything that it posts.
  void run_inline(std::function<void()> function);
  /// Returns true if this thread is in run_inline().
  static bool is_inline();
  /// Does the same as post(), but always uses a worker, even in run_inline().
  void post_to_worker(std::function<void()> function);

  /// Returns the sink of the time of functions that no scope inside them charges.
  const std::shared_ptr<BusyTotal>& other() const { return other_; }
  /// Returns the time in which functions ran.
  Nanoseconds busy() const { return busy_.total(); }

 private:
  struct Pool;
  void run(const std::function<void()>& function);

  unsigned count_;
  const std::shared_ptr<BusyTotal> other_ = std::make_shared<BusyTotal>();
  BusyTotal busy_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace frazil::server
