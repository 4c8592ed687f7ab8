#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/thread/fork.h"

namespace frazil {

/// A mutex that stays usable in the child of a fork(): no other thread holds it there, and the data that it guards is
/// consistent (see NoFork). If a fork() did not wait long enough, a lock that is never released ends the child with a
/// message instead of blocking it.
class Mutex {
 public:
  constexpr Mutex() noexcept = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() {
    NoFork::enter();
    if (!mutex_.try_lock()) wait();
  }
  bool try_lock() {
    NoFork::enter();
    const bool locked = mutex_.try_lock();
    if (!locked) NoFork::leave();
    return locked;
  }
  void unlock() {
    mutex_.unlock();
    NoFork::leave();
  }

 private:
  void wait();
  std::mutex mutex_;
};

/// A condition variable for Mutex. It stores nothing about the waiting threads, so that the child of a fork() can use
/// and destroy it.
class Condition {
 public:
  using Lock = std::unique_lock<Mutex>;

  void notify_one() noexcept;
  void notify_all() noexcept;
  void wait(Lock& lock) { wait_for_signal(lock, std::nullopt); }
  void wait(Lock& lock, std::predicate auto done) {
    while (!done()) wait(lock);
  }
  /// Waits for at most `time`.
  void wait_for(Lock& lock, std::chrono::nanoseconds time) { wait_for_signal(lock, time); }
  /// Waits for done(), for at most `time`. Returns done().
  bool wait_for(Lock& lock, std::chrono::nanoseconds time, std::predicate auto done) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (!done()) {
      const auto left = end - std::chrono::steady_clock::now();
      if (left <= left.zero()) return false;
      wait_for_signal(lock, left);
    }
    return true;
  }

 private:
  void wait_for_signal(Lock& lock, std::optional<std::chrono::nanoseconds> time);
  std::atomic<std::uint32_t> signals_ = 0;
  std::atomic<std::uint32_t> waiting_ = 0;  // may be too large in the child of a fork()
};

}  // namespace frazil
