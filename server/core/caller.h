#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace frazil::server {

/// The receiver of an answer. When it leaves, work that is only for it is cancelled. Thread-safe.
class Caller {
 public:
  /// A callback for the caller's departure. `left` is called once, on the thread that calls leave(), or in the
  /// constructor if the caller has already left. It is not called after the hook's destruction. It must be short and
  /// must not use the caller.
  class Hook {
   public:
    Hook(Caller& caller, std::function<void()> left) : caller_(caller), left_(std::move(left)) {
      const std::scoped_lock lock(caller_.mutex_);
      caller_.disconnected_ ? left_() : caller_.hooks_.push_back(this);
    }
    ~Hook() {
      const std::scoped_lock lock(caller_.mutex_);
      std::erase(caller_.hooks_, this);
    }
    Hook(const Hook&) = delete;
    Hook& operator=(const Hook&) = delete;

   private:
    friend class Caller;
    Caller& caller_;
    std::function<void()> left_;
  };

  bool disconnected() const {
    const std::scoped_lock lock(mutex_);
    return disconnected_;
  }
  void leave() {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(disconnected_, true)) return;
    for (Hook* const hook : hooks_) hook->left_();
  }

  /// Limit for the bytes of partial answers in transit to one caller. A single part may exceed it.
  static constexpr std::size_t kMaxInFlight = 8U << 20U;
  /// Records that a part is in transit. A caller with too many bytes in transit does not read and is made to leave.
  void send(std::size_t bytes) {
    const std::size_t before = in_flight_.fetch_add(bytes, std::memory_order_relaxed);
    if (before == 0 || before + bytes <= kMaxInFlight) return;
    slow_ = true;
    leave();
  }
  /// Records that a part was delivered, or is counted elsewhere.
  void sent(std::size_t bytes) { in_flight_.fetch_sub(bytes, std::memory_order_relaxed); }
  /// Returns true if the caller was made to leave because it did not read.
  bool slow() const { return slow_; }

 private:
  mutable std::mutex mutex_;
  std::vector<Hook*> hooks_;
  bool disconnected_ = false;
  std::atomic<std::size_t> in_flight_ = 0;
  std::atomic<bool> slow_ = false;
};

}  // namespace frazil::server
