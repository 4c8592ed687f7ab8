#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/thread/scheduler.h"

namespace frazil {

/// Distributes the ranges of calls to the calling threads and to helpers, which WorkerGroupScheduler::request_helpers()
/// provides. Thread-safe.
///
/// A caller takes ranges of its own call until none is left, then waits only for the helpers inside that call. A helper
/// goes from call to call, always to the one with the fewest helpers. A helper without a call stays awake for a while,
/// because waking a thread takes longer than the steps between two calls.
class WorkerGroup {
 public:
  explicit WorkerGroup(unsigned helpers);
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  unsigned helpers() const noexcept { return helpers_; }
  /// Returns whether a helper is present that has nothing to do.
  bool has_idle() const noexcept { return idle_.load(std::memory_order_relaxed) != 0; }

  /// Runs Scheduler::parallel_for() of `owner`. The caller must be outside of its bodies, and there must be at least
  /// two ranges. Calls `request_helpers(n)` if n more helpers are needed; it returns how many will come, immediately or
  /// later.
  void share(std::int64_t units, std::int64_t grain, Scheduler::Body body, const Scheduler& owner,
             FunctionRef<unsigned(unsigned)> request_helpers);
  /// Serves calls as a helper, under a number in 1..helpers(). Called by a thread that was asked to come. Returns when
  /// there is nothing to do.
  void run_helper();
  /// Ends the worker group: helpers leave, and those that come later leave immediately. Returns when no helper is
  /// present.
  void dismiss() noexcept;

 private:
  struct Call;
  Call* find_call() noexcept;
  unsigned open(Call& call) noexcept;
  void close(Call& call) noexcept;
  void leave(Call& call) noexcept;
  bool wait_for_call(std::unique_lock<std::mutex>& lock);

  const unsigned helpers_;
  std::mutex mutex_;
  std::condition_variable left_;        ///< the last helper has left a call whose caller sleeps, or the worker group
  Call* calls_ = nullptr;               ///< the open calls, as a list
  std::vector<unsigned> free_numbers_;  ///< numbers of absent helpers
  unsigned active_ = 0;                 ///< helpers inside run_helper()
  std::atomic<unsigned> idle_ = 0;      ///< helpers inside run_helper() without a call; changes under the mutex
  unsigned requested_ = 0;              ///< helpers that were asked to come and are not inside run_helper() yet
  std::atomic<unsigned> opened_ = 0;    ///< calls ever opened; idle helpers poll it
  std::atomic<bool> dismissed_ = false;
};

/// A scheduler whose threads are the helpers of a worker group.
class WorkerGroupScheduler : public Scheduler {
 public:
  unsigned workers() const noexcept final { return group_->helpers() + 1; }
  bool has_idle() const noexcept final { return group_->has_idle(); }
  void parallel_for(std::int64_t units, std::int64_t grain, Body body) final;

 protected:
  explicit WorkerGroupScheduler(unsigned helpers) : group_(std::make_shared<WorkerGroup>(helpers)) {}
  /// Makes `count` threads call WorkerGroup::run_helper(). Returns how many will.
  virtual unsigned request_helpers(unsigned count) noexcept = 0;
  /// Called by destructors. Returns true if the helpers were lost in a fork(). The worker group is then never
  /// destroyed, because they may hold its locks, and their own objects must not be destroyed either.
  bool leak_lost_threads() noexcept;

  std::shared_ptr<WorkerGroup> group_;
};

/// A scheduler that runs everything on the calling thread.
class InlineScheduler final : public Scheduler {
 public:
  unsigned workers() const noexcept override { return 1; }
  void parallel_for(std::int64_t units, std::int64_t grain, Body body) override;
};

/// Makes a scheduler of up to `threads` threads, including the caller's. It has fewer if the system refuses threads.
std::unique_ptr<Scheduler> make_pool_scheduler(unsigned threads);
/// Same, with threads that oneTBB lends while there are calls. Returns null if the build has no oneTBB.
std::unique_ptr<Scheduler> make_tbb_scheduler(unsigned threads);

/// Returns true in the child of a fork() whose parent had a scheduler of several threads: the child lacks them.
bool threads_are_lost() noexcept;

}  // namespace frazil
