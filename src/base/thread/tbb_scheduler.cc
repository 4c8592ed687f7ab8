#include "base/thread/worker_group.h"

#if FRAZIL_TBB

#include <algorithm>
#include <memory>
#include <mutex>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

namespace frazil {
namespace {

using oneapi::tbb::global_control;
using Arena = oneapi::tbb::task_arena;

unsigned threads_allowed() {
  return static_cast<unsigned>(global_control::active_value(global_control::max_allowed_parallelism));
}

/// Allows oneTBB more threads than cores if `threads` requires that. A lower limit of the application still applies,
/// because the lowest of all limits does. This process sets only one limit, the highest that was requested.
void allow(unsigned threads) {
  static std::mutex mutex;
  static auto& own = *new std::unique_ptr<global_control>;  // never destroyed: oneTBB may end first
  const std::scoped_lock lock(mutex);
  if (threads_allowed() >= threads) return;
  own.reset();
  own = std::make_unique<global_control>(global_control::max_allowed_parallelism, threads);
}

class TbbScheduler final : public WorkerGroupScheduler {
 public:
  explicit TbbScheduler(unsigned helpers)
      : WorkerGroupScheduler(helpers), arena_(std::make_unique<Arena>(static_cast<int>(helpers), 0)) {}
  ~TbbScheduler() override {
    if (leak_lost_threads()) {
      static_cast<void>(arena_.release());
    } else {
      group_->dismiss();
    }
  }

 private:
  /// Enqueues tasks. A task that oneTBB begins after the scheduler is destroyed finds the worker group dismissed.
  unsigned request_helpers(unsigned count) noexcept override {
    unsigned begun = 0;
    try {
      for (; begun < count; ++begun) arena_->enqueue([group = group_] { group->run_helper(); });
    } catch (...) {  // no memory or no threads: there are fewer helpers
    }
    return begun;
  }

  std::unique_ptr<Arena> arena_;
};

}  // namespace

std::unique_ptr<Scheduler> make_tbb_scheduler(unsigned threads) {
  allow(threads);
  const unsigned helpers = std::min(threads, threads_allowed()) - 1;
  if (helpers == 0) return std::make_unique<InlineScheduler>();
  return std::make_unique<TbbScheduler>(helpers);
}

}  // namespace frazil

#else

std::unique_ptr<frazil::Scheduler> frazil::make_tbb_scheduler(unsigned) { return nullptr; }

#endif
