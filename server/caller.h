#pragma once

#include <mutex>

#include <frazil/session.h>

namespace frazil::server {

/// Who waits for an answer. When he is gone, the run that is for him ends. Thread-safe.
class Caller {
 public:
  /// The session runs for him until release(). False when he is gone already.
  bool attach(api::Session& session) {
    const std::scoped_lock lock(mutex_);
    if (!gone_) session_ = &session;
    return !gone_;
  }
  void release() {
    const std::scoped_lock lock(mutex_);
    session_ = nullptr;
  }
  void leave() {
    const std::scoped_lock lock(mutex_);
    gone_ = true;
    if (session_ != nullptr) session_->cancel();
  }

 private:
  std::mutex mutex_;
  api::Session* session_ = nullptr;
  bool gone_ = false;
};

}  // namespace frazil::server
