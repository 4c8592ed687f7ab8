#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/thread/mutex.h"

namespace frazil::exec {

/// The process's only thread that compiles while sessions run. It starts with the first job and has a lower priority
/// than requests. At exit, the process waits for the current job. fork() waits for it too; the child inherits the
/// waiting jobs and starts its own thread. All members are thread-safe.
class CompileThread {
 public:
  static CompileThread& instance();

  /// Enqueues `job`, which logs to the sink of the calling thread. Returns false without any effect while kMaxJobs jobs
  /// wait, and after stop(). A job must not throw.
  bool post(std::function<void()> job);
  /// Drops the waiting jobs and accepts no more. Returns when the current job has ended. Runs automatically at exit.
  void stop();
  /// Returns whether a job runs. If one does, a program may leave by _exit() instead of waiting.
  bool busy() const;
  /// Waits until no job waits or runs.
  void wait_until_idle();
  /// Returns true after stop(). A job checks it between two pieces of work, to end early.
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

  static constexpr std::size_t kMaxJobs = 64;

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
