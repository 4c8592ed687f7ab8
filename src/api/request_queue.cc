#include "api/request_queue.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "api/access.h"
#include "base/thread/cores.h"
#include "base/thread/mutex.h"

namespace frazil::api {
namespace {

constexpr std::chrono::seconds kIdle{5};

class RequestQueue {
 public:
  void post(std::move_only_function<void()> task) {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    if (idle_ >= tasks_.size() || threads_ >= usable_cores() || start_thread() || threads_ > 0) {
      came_.notify_one();
      return;
    }
    tasks_.pop_back();
    refuse(frazil::Code::limit, "the system gives no thread for a request");
  }

 private:
  bool start_thread() {
    try {
      std::thread([this] { serve(); }).detach();
      ++threads_;
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      const bool some = came_.wait_for(lock, kIdle, [&] { return !tasks_.empty(); });
      --idle_;
      if (!some) break;
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
    --threads_;
  }

  Mutex mutex_;
  Condition came_;
  std::deque<std::move_only_function<void()>> tasks_;
  unsigned threads_ = 0, idle_ = 0;
};

std::atomic<RequestQueue*> queue = nullptr;

/// Returns the queue. It is never destroyed, because its threads may outlive main(). A child of fork() has its own
/// queue, because the threads of its parent do not exist in it.
RequestQueue& request_queue() {
  static const bool made = [] {
    queue = new RequestQueue;
    in_child_of_fork([] noexcept { queue = new RequestQueue; });
    return true;
  }();
  static_cast<void>(made);
  return *queue;
}

}  // namespace

void post(std::move_only_function<void()> task) { request_queue().post(std::move(task)); }

}  // namespace frazil::api
