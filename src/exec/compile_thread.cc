#include "exec/compile_thread.h"

#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"

namespace frazil::exec {

CompileThread& CompileThread::instance() {
  static CompileThread thread;
  return thread;
}

CompileThread::~CompileThread() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool CompileThread::post(std::function<void()> job) {
  const std::scoped_lock lock(mutex_);
  if (ending_ || jobs_.size() >= kMostJobs) return false;
  jobs_.push_back(std::move(job));
  if (!thread_.joinable()) thread_ = std::thread(&CompileThread::work, this);
  changed_.notify_all();
  return true;
}

void CompileThread::wait_until_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty() && !busy_; });
}

std::uint64_t CompileThread::done() const {
  const std::scoped_lock lock(mutex_);
  return done_;
}

void CompileThread::work() {
  constexpr int kLowest = 19;
  if (::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLowest) != 0) {
    logging::debug(2, "the thread that compiles keeps its priority");
  }
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    if (ending_) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    job();
    job = nullptr;  // what it held is freed here
    lock.lock();
    busy_ = false;
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace frazil::exec
