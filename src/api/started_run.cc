#include "api/started_run.h"

#include <mutex>
#include <utility>

namespace frazil::api {

void StartedRun::run_part() {
  {
    const std::scoped_lock lock(mutex_);
    if (over_) return;
    running_ = true;
  }
  std::shared_ptr<Event> event;
  std::exception_ptr error;
  try {
    event = part_();
  } catch (...) {
    error = std::current_exception();
  }
  if (event == nullptr) return end(error);
  {
    const std::scoped_lock lock(mutex_);
    running_ = false;
    waits_ = !over_;
  }
  idle_.notify_all();
  event->then([self = shared_from_this()] { self->wake(); });
  if (cancelled_) wake();
}

void StartedRun::cancel() noexcept {
  cancelled_ = true;
  wake();
}

void StartedRun::wake() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (over_ || !std::exchange(waits_, false)) return;
    ++posting_;
  }
  std::exception_ptr error;
  try {
    post_([self = shared_from_this()] { self->run_part(); });
  } catch (...) {
    error = std::current_exception();
  }
  {
    const std::scoped_lock lock(mutex_);
    --posting_;
  }
  idle_.notify_all();
  if (error) end(std::move(error));
}

void StartedRun::end(std::exception_ptr error) {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(over_, true)) return;
    running_ = true;
    ender_ = std::this_thread::get_id();
  }
  std::exchange(ended_, nullptr)(std::move(error));
  {
    const std::scoped_lock lock(mutex_);
    running_ = false;
    ender_ = {};
  }
  idle_.notify_all();
}

bool StartedRun::abandon() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return ender_ == std::this_thread::get_id() || (!running_ && posting_ == 0); });
  return !std::exchange(over_, true);
}

}  // namespace frazil::api
