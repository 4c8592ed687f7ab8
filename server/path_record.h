#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "server/request.h"

namespace frazil::server {

/// Which way a request took: what ran for it, in which version, and why each branch was taken. Of a way that is longer
/// than kMostSteps the middle is left out. Thread-safe.
class PathRecord {
 public:
  static constexpr std::size_t kMostSteps = 1000;

  struct Step {
    std::string node;  ///< of the pipeline; empty: the model itself
    std::string kind;  ///< "run", "switch", "split", ...
    std::string model, version;
    std::string taken;                            ///< the branch
    std::string why;                              ///< the formula and its value, or what went wrong
    Clock::duration begin{0}, queue{0}, time{0};  ///< from the request's arrival; waited before; took
    std::uint64_t requests = 1;                   ///< that ran together
    std::uint64_t padding = 0;                    ///< elements that were added to this request's
  };

  explicit PathRecord(Clock::time_point arrived) : arrived_(arrived) {}

  /// Adds a step that has ended now and took `step.time`.
  void add(Step step) {
    step.begin = Clock::now() - step.time - arrived_;
    const std::scoped_lock lock(mutex_);
    if (steps_.size() == kMostSteps) leave_out();
    steps_.push_back(std::move(step));
  }
  std::vector<Step> steps() const {
    const std::scoped_lock lock(mutex_);
    return steps_;
  }

  /// The steps of a request that has ended; none are left.
  std::vector<Step> take_steps() {
    const std::scoped_lock lock(mutex_);
    return std::move(steps_);
  }

  /// The state that the request found, for replays.
  void set_state(std::vector<NamedArray> state) {
    const std::scoped_lock lock(mutex_);
    state_ = std::move(state);
  }
  std::vector<NamedArray> state() const {
    const std::scoped_lock lock(mutex_);
    return state_;
  }

 private:
  /// One step tells how many are not there.
  void leave_out() {
    constexpr std::ptrdiff_t kFirst = kMostSteps / 2, kMany = kMostSteps / 4;
    left_out_ += kMany - (left_out_ == 0 ? 0 : 1);  // without that one
    steps_.erase(steps_.begin() + kFirst + 1, steps_.begin() + kFirst + kMany);
    steps_[kFirst] = {.kind = "left out", .taken = std::to_string(left_out_) + " steps", .begin = steps_[kFirst].begin};
  }

  const Clock::time_point arrived_;
  mutable std::mutex mutex_;
  std::vector<Step> steps_;
  std::uint64_t left_out_ = 0;
  std::vector<NamedArray> state_;
};

}  // namespace frazil::server
