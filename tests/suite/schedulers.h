#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/limits/execution_limits.h"
#include "base/thread/scheduler.h"

// Schedulers that tests give to sessions.
namespace frazil::test {

/// On the calling thread, the last range first, under one worker number after the other: what a kernel keeps between
/// ranges, or in the scratch memory of another worker, shows.
class Backwards : public Scheduler {
 public:
  unsigned workers() const noexcept override { return 3; }
  bool has_idle() const noexcept override { return true; }
  void parallel_for(std::int64_t units, std::int64_t grain, Body body) override {
    grain = std::max<std::int64_t>(grain, 1);
    for (std::int64_t range = (units + grain - 1) / grain; range-- > 0;) {
      if (ExecutionLimits* const limits = ExecutionLimits::current(); limits != nullptr && limits->poll()) return;
      body(range * grain, std::min(units, (range + 1) * grain), next_);
      next_ = (next_ + 1) % workers();
    }
  }

 private:
  unsigned next_ = 0;
};

/// Another scheduler, which is given little work, too, and how many ranges it was given.
class Counting : public Scheduler {
 public:
  explicit Counting(std::shared_ptr<Scheduler> of) : of_(std::move(of)) {}
  unsigned workers() const noexcept override { return of_->workers(); }
  bool has_idle() const noexcept override { return true; }
  void parallel_for(std::int64_t units, std::int64_t grain, Body body) override {
    of_->parallel_for(units, grain, [&](std::int64_t begin, std::int64_t end, unsigned worker) {
      ++ranges_;
      body(begin, end, worker);
    });
  }
  int ranges() const noexcept { return ranges_; }

 private:
  std::shared_ptr<Scheduler> of_;
  std::atomic<int> ranges_ = 0;
};

}  // namespace frazil::test
