#include "base/limits/deferred_free.h"

#include <array>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/limits/execution_limits.h"
#include "base/thread/mutex.h"

namespace frazil {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

struct Job {
  void* what;
  void (*destroy)(void*) noexcept;
  std::size_t bytes;
};

/// Makes the heap coalesce free chunks. Otherwise the next large allocation does it, which takes 0.3 to 0.6 s after a
/// million tensors.
void trim_heap() noexcept {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

/// A ring of jobs with a fixed size, so that queueing does not allocate, and the thread that runs them.
class DeferredFreeQueue {
 public:
  bool put(const Job& job) noexcept {
    const std::scoped_lock lock(mutex_);
    if (count_ == jobs_.size() || job.bytes > kMaxBytes - bytes_ || !start()) return false;
    jobs_[(first_ + count_++) % jobs_.size()] = job;
    bytes_ += job.bytes;
    return true;
  }

  bool wait() noexcept {
    std::unique_lock lock(mutex_);
    if (count_ == 0 && !runs_) return false;
    if (!start()) return false;
    idle_.wait(lock, [&] { return !runs_; });
    return true;
  }

  /// Forgets the thread, in the child of a fork(), which lacks it. The job that the thread was running is lost.
  void forget_thread() noexcept {
    const std::scoped_lock lock(mutex_);
    runs_ = false;
    bytes_ = 0;
    for (std::size_t i = 0; i < count_; ++i) bytes_ += jobs_[(first_ + i) % jobs_.size()].bytes;
  }

 private:
  static void forget_thread_of_parent() noexcept;

  bool start() noexcept {
    if (runs_) return true;
    if (!std::exchange(watches_forks_, true)) in_child_of_fork(&DeferredFreeQueue::forget_thread_of_parent);
    try {
      std::thread([this] { run(); }).detach();
    } catch (const std::system_error&) {
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
    return runs_ = true;
  }

  void run() noexcept {
    std::unique_lock lock(mutex_);
    while (count_ > 0) {
      const Job job = jobs_[first_];
      first_ = (first_ + 1) % jobs_.size();
      --count_;
      lock.unlock();
      job.destroy(job.what);
      trim_heap();
      lock.lock();
      bytes_ -= job.bytes;
    }
    runs_ = false;
    idle_.notify_all();
  }

  Mutex mutex_;
  Condition idle_;
  std::array<Job, 64> jobs_{};
  std::size_t first_ = 0, count_ = 0, bytes_ = 0;
  bool runs_ = false, watches_forks_ = false;
};

/// Exists from program start and is never destroyed, because values may be released after main() returns.
constinit DeferredFreeQueue deferred_frees;
static_assert(std::is_trivially_destructible_v<DeferredFreeQueue>);

void DeferredFreeQueue::forget_thread_of_parent() noexcept { deferred_frees.forget_thread(); }

}  // namespace

bool defers_free(std::size_t objects) noexcept {
  constexpr std::size_t kMinDeferredObjects = 16384;  // below this, freeing is faster than starting a thread
  return objects >= kMinDeferredObjects && ExecutionLimits::current() != nullptr &&
         ExecutionLimits::current()->stopping();
}

void defer_free(void* what, void (*destroy)(void*) noexcept, std::size_t bytes) noexcept {
  if (!deferred_frees.put({what, destroy, bytes})) destroy(what);
}

bool wait_until_freed() noexcept { return deferred_frees.wait(); }

}  // namespace frazil
