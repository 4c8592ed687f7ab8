#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace frazil::server {

/// Who waits for an answer. When he leaves, the work that is only for him ends. Thread-safe.
class Caller {
 public:
  /// Called once, on the thread on which he leaves or at once where he has left. Nothing is called after its
  /// destruction. The function must be short and must not use the caller.
  class Hook {
   public:
    Hook(Caller& caller, std::function<void()> left) : caller_(caller), left_(std::move(left)) {
      const std::scoped_lock lock(caller_.mutex_);
      caller_.gone_ ? left_() : caller_.hooks_.push_back(this);
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

  bool gone() const {
    const std::scoped_lock lock(mutex_);
    return gone_;
  }
  void leave() {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(gone_, true)) return;
    for (Hook* const hook : hooks_) hook->left_();
  }

  /// Bytes of parts of an answer that may be on their way to a caller, and of one part any number.
  static constexpr std::size_t kMostOnTheWay = 8U << 20U;
  /// A part is on its way. A caller for whom too much is does not read: he leaves.
  void send(std::size_t bytes) {
    const std::size_t before = on_the_way_.fetch_add(bytes, std::memory_order_relaxed);
    if (before == 0 || before + bytes <= kMostOnTheWay) return;
    slow_ = true;
    leave();
  }
  /// He has got it, or it is somewhere else where it is counted.
  void sent(std::size_t bytes) { on_the_way_.fetch_sub(bytes, std::memory_order_relaxed); }
  /// He has left as he did not read.
  bool slow() const { return slow_; }

 private:
  mutable std::mutex mutex_;
  std::vector<Hook*> hooks_;
  bool gone_ = false;
  std::atomic<std::size_t> on_the_way_ = 0;
  std::atomic<bool> slow_ = false;
};

}  // namespace frazil::server
