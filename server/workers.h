#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace frazil::server {

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

 private:
  struct Pool;
  unsigned count_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace frazil::server
