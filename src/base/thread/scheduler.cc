#include "base/thread/scheduler.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/os/log.h"
#include "base/thread/cores.h"
#include "base/thread/mutex.h"
#include "base/thread/worker_group.h"

namespace frazil {
namespace {

std::atomic<bool> lost = false;

/// Never destroyed, because sessions may be destroyed later.
struct Registry {
  Mutex mutex;
  std::map<unsigned, std::weak_ptr<Scheduler>> schedulers;  ///< by the requested number of threads
  bool watches_forks = false;

  static Registry& get() {
    static auto& registry = *new Registry;
    return registry;
  }
};

void watch_forks(Registry& registry) {
  if (std::exchange(registry.watches_forks, true)) return;
  in_child_of_fork([] noexcept { lost.store(true, std::memory_order_relaxed); });
}

std::unique_ptr<Scheduler> make(unsigned threads) {
  if (threads == 1 || threads_are_lost()) return std::make_unique<InlineScheduler>();
#if FRAZIL_TBB
  auto made = make_tbb_scheduler(threads);
#else
  auto made = make_pool_scheduler(threads);
#endif
  if (made->workers() < threads) {
    logging::warn("threads", fmt::format("{} threads were asked for, and there are {}", threads, made->workers()));
  }
  return made;
}

}  // namespace

bool threads_are_lost() noexcept { return lost.load(std::memory_order_relaxed); }

std::shared_ptr<Scheduler> scheduler(unsigned threads) {
  threads = std::min(threads == 0 ? usable_cores() : threads, kMaxThreads);
  Registry& registry = Registry::get();
  const std::scoped_lock lock(registry.mutex);
  auto& known = registry.schedulers[threads];
  if (auto shared = known.lock()) return shared;
  if (threads > 1) watch_forks(registry);
  std::shared_ptr<Scheduler> made = make(threads);
  known = made;
  return made;
}

}  // namespace frazil
