#pragma once

#include <cstdint>
#include <memory>

#include "base/value/function_ref.h"

namespace frazil {

/// Runs the units of one piece of work on several threads. Thread-safe: callers on several threads do not wait for each
/// other, because each works on its own call even if no other thread helps.
class Scheduler {
 public:
  /// Processes units begin..end - 1 on worker `worker`. Must not throw.
  using Body = FunctionRef<void(std::int64_t begin, std::int64_t end, unsigned worker)>;

  Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  /// Precondition: no call of parallel_for is in progress.
  virtual ~Scheduler() = default;

  /// Returns the most threads that work on one call, including the calling one. At least 1.
  virtual unsigned workers() const noexcept = 0;

  /// Returns whether another thread is awake without work, so that even little work is worth sharing. The result is a
  /// hint and may be outdated immediately.
  virtual bool has_idle() const noexcept { return false; }

  /// Cuts [0, units) into ranges of `grain` units; the last range may be shorter. A `grain` below 1 is taken as 1.
  /// Calls body once for each range, in any order, on the calling thread and on as many others as are free, up to
  /// workers(). Returns when all calls have returned and no other thread is inside.
  ///
  /// `worker` is less than workers(). Concurrent calls of this body have different workers, so that `worker` can select
  /// scratch memory. It identifies neither the thread nor the number of threads.
  ///
  /// The calling thread's ExecutionLimits and FloatControl are current wherever body runs. Once the limits request a
  /// stop (ExecutionLimits::poll() before each range), the remaining ranges are skipped.
  ///
  /// A call from inside a body of this scheduler, as the thread's innermost body, runs entirely on that thread. It has
  /// the worker number of that body, whose scratch memory thus stays its own.
  virtual void parallel_for(std::int64_t units, std::int64_t grain, Body body) = 0;
};

/// The most threads of a scheduler. Larger numbers are reduced to it.
constexpr unsigned kMaxThreads = 1024;

/// Returns the process's scheduler of `threads` threads, including the caller's. 0: one per core (usable_cores()). It
/// is made on the first request and shared. Its threads end, or return to oneTBB, when the last owner releases it. If
/// the system refuses threads, or oneTBB has no more, it has fewer workers and a warning is logged. Throws
/// std::bad_alloc. Thread-safe.
///
/// In the child of a fork() whose parent had a scheduler of several threads, every scheduler uses the calling thread
/// alone. The child lacks the other threads.
std::shared_ptr<Scheduler> scheduler(unsigned threads);

}  // namespace frazil
