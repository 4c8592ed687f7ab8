#pragma once

#include <cstdint>
#include <memory>

#include "base/value/function_ref.h"

namespace frazil {

/// Runs the units of one piece of work on several threads. Thread-safe: callers on several threads do not wait for each
/// other, as each works on its own call whoever else helps.
class Scheduler {
 public:
  /// Units begin..end - 1, on worker `worker`. Must not throw.
  using Body = FunctionRef<void(std::int64_t begin, std::int64_t end, unsigned worker)>;

  Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  /// Precondition: no call of parallel_for is in progress.
  virtual ~Scheduler() = default;

  /// The most threads that work on one call, the calling one included; at least 1.
  virtual unsigned workers() const noexcept = 0;

  /// Whether another thread is awake without work, so that little work is worth sharing, too. A hint: the next moment
  /// it may be otherwise.
  virtual bool has_idle() const noexcept { return false; }

  /// Cuts [0, units) into ranges of `grain` units (less than 1 counts as 1), the last one shorter where it does not
  /// come out even, and calls body once for each, in any order, on the calling thread and on as many others as have
  /// time, up to workers(). Returns when all calls have returned and no other thread is inside.
  ///
  /// `worker` is less than workers(), and no two calls of this body that run at the same time are given the same one:
  /// it is for scratch, and says neither which thread it is nor how many there are.
  ///
  /// The calling thread's ExecutionLimits and FloatControl are current wherever body runs. Once the limits ask to stop
  /// (ExecutionLimits::poll, before each range), the ranges that have not begun are left out.
  ///
  /// Where the innermost body that the calling thread is inside is this scheduler's, everything runs on that thread,
  /// under the worker number of that body: what it has as scratch by worker stays its own.
  virtual void parallel_for(std::int64_t units, std::int64_t grain, Body body) = 0;
};

/// More threads than this are as many.
constexpr unsigned kMostThreads = 1024;

/// The process's scheduler of `threads` threads, the caller's among them; 0: one per core (usable_cores()). Made when
/// it is first asked for and shared; its threads end, or go back to oneTBB, when the last who holds it lets go. Where
/// the system refuses threads, or oneTBB has no more, it has fewer workers, and the log says so. Throws std::bad_alloc.
/// Thread-safe.
///
/// In the child of a fork() whose parent had a scheduler of several threads, every scheduler runs everything on the
/// calling thread, as the others are not there.
std::shared_ptr<Scheduler> scheduler(unsigned threads);

}  // namespace frazil
