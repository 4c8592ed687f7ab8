#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/thread/mutex.h"

namespace frazil::exec {

/// The one thread of the process that compiles while sessions run. It starts with the first job, has a
/// lower priority than requests, and ends with the process, which waits for the job at hand. A fork() waits for it,
/// too; the child has the jobs that wait and starts a thread of its own. All members are thread-safe.
class CompileThread {
 public:
  static CompileThread& instance();

  /// Runs `job` later; false, and nothing happens, while kMostJobs wait. A job does not throw.
  bool post(std::function<void()> job);
  /// Forgets the jobs that wait and takes no more; returns when the one at hand has ended. A program that ends calls it
  /// by itself, at exit.
  void stop();
  /// Whether a job runs. A program may then leave by _exit() instead of waiting.
  bool busy() const;
  /// Returns when no job waits or runs.
  void wait_until_idle();
  /// True for a job that is to end early, between two pieces of work.
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

  static constexpr std::size_t kMostJobs = 64;

  CompileThread(const CompileThread&) = delete;
  CompileThread& operator=(const CompileThread&) = delete;

 private:
  CompileThread() = default;
  ~CompileThread() = default;
  void work();
  void start();  ///< Precondition: the mutex is held.

  static inline std::atomic<CompileThread*> only_ = nullptr;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<std::function<void()>> jobs_;
  bool busy_ = false;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace frazil::exec
