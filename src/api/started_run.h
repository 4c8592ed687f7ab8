#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <thread>

#include "base/thread/event.h"
#include "base/thread/mutex.h"

namespace frazil::api {

/// A run in parts, between which it waits for events without a thread. Thread-safe.
class StartedRun : public std::enable_shared_from_this<StartedRun> {
 public:
  /// Runs the next part. Returns the event to wait for, or null if the run has ended. Throws the error of the run.
  using Part = std::function<std::shared_ptr<Event>()>;
  using Post = std::function<void(std::function<void()>)>;
  /// Called once, when the run has ended, with its error or null.
  using Ended = std::function<void(std::exception_ptr)>;

  StartedRun(Part part, Post post, Ended ended)
      : part_(std::move(part)), post_(std::move(post)), ended_(std::move(ended)) {}

  /// Runs a part on this thread. Does nothing if the run has ended.
  void run_part();
  /// Posts the part after the current one immediately instead of after its event.
  void cancel() noexcept;
  /// Waits until no other thread is in a part, in `post` or in `ended`. Returns true if the run has not ended; parts
  /// then do nothing, and neither `post` nor `ended` is called any more. `ended` itself may call it.
  bool abandon();

 private:
  /// Posts the next part if nothing has. An error of `post` is the error of the run.
  void wake() noexcept;
  void end(std::exception_ptr error);

  const Part part_;
  const Post post_;
  Ended ended_;
  std::atomic<bool> cancelled_ = false;
  Mutex mutex_;  // guards the members below
  Condition idle_;
  bool running_ = false, over_ = false;
  bool waits_ = false;     // nothing has posted the next part
  int posting_ = 0;        // calls of `post` in progress
  std::thread::id ender_;  // the thread that is in `ended_`
};

}  // namespace frazil::api
