#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/thread/worker_group.h"

namespace frazil {
namespace {

/// Threads that sleep until they must help a worker group.
class Threads {
 public:
  /// Starts `count` threads, or as many as the system allows.
  explicit Threads(unsigned count) {
    threads_.reserve(count);
    try {
      while (threads_.size() < count) threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {
      return;  // the scheduler then has fewer workers
    }
  }
  ~Threads() {
    {
      const std::scoped_lock lock(mutex_);
      end_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  unsigned count() const noexcept { return static_cast<unsigned>(threads_.size()); }

  void request_helpers(unsigned count, WorkerGroup& group) noexcept {
    {
      const std::scoped_lock lock(mutex_);
      group_ = &group;
      asked_ += count;
    }
    for (; count > 0; --count) wake_.notify_one();
  }

 private:
  void run() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return asked_ > 0 || end_; });
      if (end_) return;
      --asked_;
      WorkerGroup* const group = group_;
      lock.unlock();
      group->run_helper();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  WorkerGroup* group_ = nullptr;
  unsigned asked_ = 0;
  bool end_ = false;
  std::vector<std::thread> threads_;
};

class PoolScheduler final : public WorkerGroupScheduler {
 public:
  explicit PoolScheduler(std::unique_ptr<Threads> threads)
      : WorkerGroupScheduler(threads->count()), threads_(std::move(threads)) {}
  ~PoolScheduler() override {
    if (leak_lost_threads()) {
      static_cast<void>(threads_.release());
    } else {
      group_->dismiss();
    }
  }

 private:
  unsigned request_helpers(unsigned count) noexcept override {
    threads_->request_helpers(count, *group_);
    return count;
  }

  std::unique_ptr<Threads> threads_;
};

}  // namespace

std::unique_ptr<Scheduler> make_pool_scheduler(unsigned threads) {
  auto helpers = std::make_unique<Threads>(threads - 1);
  if (helpers->count() == 0) return std::make_unique<InlineScheduler>();
  return std::make_unique<PoolScheduler>(std::move(helpers));
}

}  // namespace frazil
