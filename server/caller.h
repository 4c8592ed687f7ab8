#pragma once

#include <algorithm>
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

 private:
  mutable std::mutex mutex_;
  std::vector<Hook*> hooks_;
  bool gone_ = false;
};

}  // namespace frazil::server
