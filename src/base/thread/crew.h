#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/thread/scheduler.h"

namespace frazil {

/// Hands the ranges of calls to threads: the calling one and helpers, wherever these come from. Thread-safe.
///
/// A caller takes ranges of its own call until none is left, and then waits for the helpers inside it alone. A helper
/// goes from call to call, to where the fewest are. Without one it stays awake for a while before it goes away, as
/// calling it back takes longer than the steps between two calls.
class Crew {
 public:
  explicit Crew(unsigned helpers);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  unsigned helpers() const noexcept { return helpers_; }
  /// Whether a helper is here that has nothing to do.
  bool has_idle() const noexcept { return idle_.load(std::memory_order_relaxed) != 0; }

  /// Scheduler::parallel_for of `owner`, for a caller that is inside no body of it, and at least two ranges. `come(n)`
  /// is asked for n helpers where these are not here yet; it gives how many will come, now or later.
  void share(std::int64_t units, std::int64_t grain, Scheduler::Body body, const Scheduler& owner,
             FunctionRef<unsigned(unsigned)> come);
  /// What a helper does that was asked to come, under a number in 1..helpers(). Returns when there is nothing to do.
  void help();
  /// There are no more calls: helpers leave, and those that come later leave at once. Returns when none is here.
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
  std::condition_variable left_;        ///< the last helper has left a call whose caller sleeps, or this crew
  Call* calls_ = nullptr;               ///< those that are open, as a list
  std::vector<unsigned> free_numbers_;  ///< of helpers that are not here
  unsigned here_ = 0;                   ///< helpers inside help()
  std::atomic<unsigned> idle_ = 0;      ///< of these, those without a call; changes under the mutex
  unsigned coming_ = 0;                 ///< helpers that were asked to come and are not here yet
  std::atomic<unsigned> opened_ = 0;    ///< calls ever opened; idle helpers watch it
  std::atomic<bool> dismissed_ = false;
};

/// A scheduler whose threads are the helpers of a crew.
class CrewScheduler : public Scheduler {
 public:
  unsigned workers() const noexcept final { return crew_->helpers() + 1; }
  bool has_idle() const noexcept final { return crew_->has_idle(); }
  void parallel_for(std::int64_t units, std::int64_t grain, Body body) final;

 protected:
  explicit CrewScheduler(unsigned helpers) : crew_(std::make_shared<Crew>(helpers)) {}
  /// Sees to it that `count` threads call Crew::help; how many will.
  virtual unsigned come(unsigned count) noexcept = 0;
  /// For destructors. True where the helpers were lost in a fork(): then the crew, in whose locks they may be, is never
  /// destroyed, and what belongs to them must not be either.
  bool leak_lost_threads() noexcept;

  std::shared_ptr<Crew> crew_;
};

/// Runs everything on the calling thread.
class InlineScheduler final : public Scheduler {
 public:
  unsigned workers() const noexcept override { return 1; }
  void parallel_for(std::int64_t units, std::int64_t grain, Body body) override;
};

/// A scheduler of up to `threads` threads of its own, the caller's among them; it has those that the system gives.
std::unique_ptr<Scheduler> make_pool_scheduler(unsigned threads);
/// The same with threads that oneTBB lends while there are calls. Null where the build has no oneTBB.
std::unique_ptr<Scheduler> make_tbb_scheduler(unsigned threads);

/// True in the child of a fork() whose parent had a scheduler of several threads: these are not there.
bool threads_are_lost() noexcept;

}  // namespace frazil
