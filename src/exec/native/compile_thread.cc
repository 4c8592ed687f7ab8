#include "exec/native/compile_thread.h"

#include <cstdlib>
#include <new>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "base/os/log.h"
#include "base/value/sha256.h"

namespace frazil::exec {

namespace {

/// Registers an exit handler that stops the thread. It runs before the objects that exist now are destroyed, and before
/// libcrypto's cleanup, because the thread computes digests. The code generator's own objects are never destroyed.
void stop_at_exit() {
  prepare_sha256();
  (void)std::atexit([] { CompileThread::instance().stop(); });
}

}  // namespace

/// The instance is never destroyed, so that it does not depend on the order of static destruction.
CompileThread& CompileThread::instance() {
  static CompileThread& thread = *[] {
    auto* const made = new CompileThread;
    only_.store(made);
    in_child_of_fork(
        [] noexcept { new (&only_.load()->thread_) std::thread; });  // the parent's thread cannot be joined here
    return made;
  }();
  return thread;
}

void CompileThread::start() {
  if (thread_.joinable()) return;
  thread_ = std::thread(&CompileThread::work, this);
  stop_at_exit();
}

void CompileThread::stop() {
  std::thread ending;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    jobs_.clear();
    ending = std::move(thread_);
  }
  changed_.notify_all();
  if (ending.joinable()) ending.join();
}

bool CompileThread::post(std::function<void()> job) {
  if (logging::SinkPtr sink = logging::SinkScope::current()) {
    job = [sink = std::move(sink), job = std::move(job)] {
      const logging::SinkScope scope(sink);
      job();
    };
  }
  const std::scoped_lock lock(mutex_);
  if (stopping_ || jobs_.size() >= kMaxJobs) return false;
  jobs_.push_back(std::move(job));
  start();
  changed_.notify_all();
  return true;
}

void CompileThread::wait_until_idle() {
  std::unique_lock lock(mutex_);
  if (!jobs_.empty()) start();
  changed_.wait(lock, [this] { return jobs_.empty() && !busy_; });
}

bool CompileThread::busy() const {
  const std::scoped_lock lock(mutex_);
  return busy_;
}

void CompileThread::work() {
  // At this niceness the thread gets about a quarter of a core that requests keep busy. At the lowest priority it would
  // get nothing there.
  constexpr int kNice = 5;
  if (::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice) != 0) {
    logging::debug(2, "threads", "the thread that compiles keeps its priority");
  }
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    {
      const NoFork whole;
      lock.unlock();
      job();
      job = nullptr;  // frees the job's captures
      lock.lock();
      busy_ = false;
    }
    changed_.notify_all();
  }
}

}  // namespace frazil::exec
