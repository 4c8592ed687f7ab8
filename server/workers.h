#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace frazil::server {

/// Lets a thread that reads requests run one of them itself, at most once for all that have come at the same time:
/// where more have come, they are for workers. Used on that thread alone.
class Spot {
 public:
  /// `later` has its argument called on this thread, behind all that has come by then.
  explicit Spot(std::function<void(std::function<void()>)> later) : later_(std::move(later)) {}
  /// Whether the thread may run one now.
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
  /// Waits for what was posted and for timers.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  unsigned count() const { return count_; }
  /// Functions must not throw.
  void post(std::function<void()> function);
  void post_at(std::chrono::steady_clock::time_point when, std::function<void()> function);
  /// Runs a function on this thread, which need be none of these, and then what is posted here meanwhile.
  void run_here(std::function<void()> function);
  /// Whether this thread is in run_here().
  static bool here();
  /// As post(), also in run_here().
  void post_away(std::function<void()> function);

 private:
  struct Pool;
  unsigned count_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace frazil::server
