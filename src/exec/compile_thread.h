#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace frazil::exec {

/// The one thread of the process that compiles while sessions run. It starts with the first job, yields to whatever
/// else wants the processor, and ends with the process, which waits for the job at hand. All members are thread-safe.
class CompileThread {
 public:
  static CompileThread& instance();

  /// Runs `job` later; false, and nothing happens, while kMostJobs wait. A job does not throw.
  bool post(std::function<void()> job);
  /// Returns when no job waits or runs.
  void wait_until_idle();
  /// Of jobs done so far.
  std::uint64_t done() const;

  static constexpr std::size_t kMostJobs = 64;

  CompileThread(const CompileThread&) = delete;
  CompileThread& operator=(const CompileThread&) = delete;
  ~CompileThread();

 private:
  CompileThread() = default;
  void work();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool busy_ = false, ending_ = false;
  std::uint64_t done_ = 0;
  std::thread thread_;
};

}  // namespace frazil::exec
