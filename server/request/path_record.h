#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/request/request.h"

namespace frazil::server {

/// Replaces a value that must not be shown.
inline constexpr const char* kRedacted = "(redacted)";

/// The path of a request: the steps that ran, the versions used and the reason for each branch. Beyond kMaxSteps,
/// steps in the middle are dropped. Thread-safe.
class PathRecord {
 public:
  static constexpr std::size_t kMaxSteps = 1000;

  struct Step {
    std::string node;  ///< node of the pipeline; empty: the model itself
    std::string kind;  ///< "run", "switch", "split", ...
    std::string model, version;
    std::string taken;                            ///< name of the branch
    std::string why;                              ///< the formula and its value, or the failure
    Clock::duration begin{0}, queue{0}, time{0};  ///< offset from arrival; wait before the step; duration
    std::uint64_t requests = 1;                   ///< requests in the same run
    std::uint64_t padding = 0;                    ///< elements of padding added to this request
    std::optional<std::string> key = {};          ///< of a split: the value of `by` that chose the arm
    bool rolled_back = false;                     ///< of a split: a guard sent the request to the baseline
  };

  /// An arm that a split chose, as in the step of its first choice. A split in a loop may choose several arms.
  struct Exposure {
    std::string split, arm;
    std::optional<std::string> key;
    bool rolled_back;
  };

  explicit PathRecord(Clock::time_point arrived) : arrived_(arrived) {}

  /// Adds a step that ends now and took `step.time`.
  void add(Step step) {
    step.begin = Clock::now() - step.time - arrived_;
    const std::scoped_lock lock(mutex_);
    if (step.kind == "split") expose(step);
    if (steps_.size() == kMaxSteps) leave_out();
    steps_.push_back(std::move(step));
  }
  std::vector<Step> steps() const {
    const std::scoped_lock lock(mutex_);
    return steps_;
  }

  /// Calls `use` with the steps, which it must not keep, under the lock.
  template <class Use>
  void read(const Use& use) const {
    const std::scoped_lock lock(mutex_);
    use(steps_);
  }

  /// Returns the chosen arms of splits in the order of their first choice, without repetitions. Complete even if steps
  /// were dropped.
  std::vector<Exposure> exposures() const {
    const std::scoped_lock lock(mutex_);
    return exposures_;
  }

  /// Moves the steps out of the record of a completed request.
  std::vector<Step> take_steps() {
    const std::scoped_lock lock(mutex_);
    return std::move(steps_);
  }

  /// Stores the state that the request started from, for replays.
  void set_state(std::vector<NamedArray> state) {
    const std::scoped_lock lock(mutex_);
    state_ = std::move(state);
  }
  std::vector<NamedArray> state() const {
    const std::scoped_lock lock(mutex_);
    return state_;
  }

 private:
  void expose(const Step& step) {
    const auto same = [&](const Exposure& e) { return e.split == step.node && e.arm == step.taken; };
    if (std::ranges::none_of(exposures_, same))
      exposures_.push_back({step.node, step.taken, step.key, step.rolled_back});
  }

  /// Drops steps in the middle. One placeholder step contains their number.
  void leave_out() {
    constexpr std::ptrdiff_t kFirst = kMaxSteps / 2, kMany = kMaxSteps / 4;
    left_out_ += kMany - (left_out_ == 0 ? 0 : 1);  // excluding the placeholder
    steps_.erase(steps_.begin() + kFirst + 1, steps_.begin() + kFirst + kMany);
    steps_[kFirst] = {.kind = "left out", .taken = std::to_string(left_out_) + " steps", .begin = steps_[kFirst].begin};
  }

  const Clock::time_point arrived_;
  mutable std::mutex mutex_;
  std::vector<Step> steps_;
  std::vector<Exposure> exposures_;
  std::uint64_t left_out_ = 0;
  std::vector<NamedArray> state_;
};

}  // namespace frazil::server
