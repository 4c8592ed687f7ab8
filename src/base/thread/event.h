#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "base/thread/mutex.h"

namespace frazil {

/// Something that fires once. Thread-safe.
class Event {
 public:
  Event() = default;
  virtual ~Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Fires the event and calls the function of then() on this thread. Later calls have no effect.
  void fire() {
    std::function<void()> next;
    {
      const std::scoped_lock lock(mutex_);
      if (std::exchange(fired_, true)) return;
      next = std::move(next_);
    }
    condition_.notify_all();
    if (next) next();
  }
  bool fired() const {
    const std::scoped_lock lock(mutex_);
    return fired_;
  }
  /// Calls `next` once: on the thread that fires the event, or on this thread if it has fired. Replaces the function of
  /// an earlier call.
  void then(std::function<void()> next) {
    {
      const std::scoped_lock lock(mutex_);
      if (!fired_) {
        next_ = std::move(next);
        return;
      }
    }
    next();
  }
  /// Blocks until the event has fired, for at most `time`. Returns fired().
  bool wait_for(std::chrono::nanoseconds time) {
    std::unique_lock lock(mutex_);
    return condition_.wait_for(lock, time, [&] { return fired_; });
  }

 private:
  mutable Mutex mutex_;  // guards the members below
  Condition condition_;
  bool fired_ = false;
  std::function<void()> next_;
};

}  // namespace frazil
