#include "base/thread/scheduler.h"

#include <atomic>
#include <cfenv>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits/execution_limits.h"
#include "base/os/sanitizers.h"
#include "base/thread/cores.h"
#include "base/thread/float_control.h"
#include "base/thread/worker_group.h"

// Run this under the thread sanitizer, too.
namespace frazil::test {
namespace {

enum class Kind : std::uint8_t { shared, pool, tbb };

struct Make {
  Kind kind;
  unsigned threads;
};

std::shared_ptr<Scheduler> make(const Make& of) {
  switch (of.kind) {
    case Kind::shared: return scheduler(of.threads);
    case Kind::pool: return make_pool_scheduler(of.threads);
    case Kind::tbb: return make_tbb_scheduler(of.threads);
  }
  return nullptr;
}

/// Takes a while that no compiler drops, so that other threads get ranges too.
void work_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

/// Runs until `threads` threads are inside at once, or for ever.
class Meeting {
 public:
  explicit Meeting(unsigned threads) : threads_(threads) {}
  void operator()() {
    ++inside_;
    while (inside_ < threads_) std::this_thread::yield();
  }

 private:
  const unsigned threads_;
  std::atomic<unsigned> inside_ = 0;
};

class OfScheduler : public ::testing::TestWithParam<Make> {
 protected:
  std::shared_ptr<Scheduler> scheduler_ = make(GetParam());
};

TEST_P(OfScheduler, RunsEachUnitOnceInRangesOfTheGrain) {
  EXPECT_EQ(scheduler_->workers(), GetParam().threads);
  const struct {
    std::int64_t units, grain;
  } cases[] = {{0, 1}, {-3, 1}, {1, 1}, {1, 0},   {7, -2},   {7, 1},
               {7, 3}, {6, 3},  {7, 7}, {7, 100}, {1000, 1}, {1000, 17}};
  for (const auto& c : cases) {
    SCOPED_TRACE(::testing::Message() << c.units << " units, grain " << c.grain);
    const std::int64_t grain = std::max<std::int64_t>(c.grain, 1);
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(std::max<std::int64_t>(c.units, 0)));
    std::atomic<int> wrong = 0;
    scheduler_->parallel_for(c.units, c.grain, [&](std::int64_t begin, std::int64_t end, unsigned worker) {
      if (begin % grain != 0 || end != std::min(begin + grain, c.units) || worker >= scheduler_->workers()) ++wrong;
      for (std::int64_t u = begin; u < end; ++u) ++runs[static_cast<std::size_t>(u)];
    });
    EXPECT_EQ(wrong, 0);
    for (const auto& r : runs) ASSERT_EQ(r, 1);
  }
}

/// One range a worker, which ends when all workers are inside theirs.
TEST_P(OfScheduler, HasAsManyWorkersAsItSays) {
  for (int run = 0; run < 20; ++run) {
    const unsigned workers = scheduler_->workers();
    Meeting meeting(workers);
    std::vector<std::atomic<int>> ranges(workers);
    scheduler_->parallel_for(workers, 1, [&](std::int64_t, std::int64_t, unsigned worker) {
      ++ranges[worker];
      meeting();
    });
    for (const auto& r : ranges) EXPECT_EQ(r, 1);
  }
}

/// Steps that work on the same rows then find them in their core's cache.
TEST_P(OfScheduler, WorkersBeginWithThePartOfTheirNumber) {
  const unsigned workers = scheduler_->workers();
  const std::int64_t each = 4;
  std::vector<std::atomic<std::int64_t>> first(workers);
  for (auto& f : first) f = -1;
  scheduler_->parallel_for(each * workers, 1, [&](std::int64_t begin, std::int64_t, unsigned worker) {
    std::int64_t none = -1;
    first[worker].compare_exchange_strong(none, begin);
    work_for(std::chrono::microseconds(50));
  });
  EXPECT_EQ(first[0], 0);
  // Of more workers, one may come when others have done its part.
  if (workers == 2 && first[1] >= 0) {
    EXPECT_GE(first[1], each);
  }
}

TEST_P(OfScheduler, NoTwoAtATimeHaveOneNumber) {
  for (int run = 0; run < 50; ++run) {
    std::vector<std::atomic<bool>> taken(scheduler_->workers());
    std::atomic<int> clashes = 0;
    scheduler_->parallel_for(40, 1, [&](std::int64_t, std::int64_t, unsigned worker) {
      if (taken[worker].exchange(true)) ++clashes;
      work_for(std::chrono::microseconds(5));
      taken[worker] = false;
    });
    EXPECT_EQ(clashes, 0);
  }
}

/// Without locks: what a body writes, the caller reads.
TEST_P(OfScheduler, TheCallerSeesWhatBodiesWrote) {
  std::vector<int> numbers(1000);
  for (int run = 1; run <= 200; ++run) {
    scheduler_->parallel_for(1000, 10, [&](std::int64_t begin, std::int64_t end, unsigned) {
      for (std::int64_t u = begin; u < end; ++u) numbers[static_cast<std::size_t>(u)] += run;
    });
    ASSERT_EQ(numbers, std::vector<int>(1000, run * (run + 1) / 2));
  }
}

TEST_P(OfScheduler, NestedCallsStayOnTheirThreadUnderTheirNumber) {
  std::atomic<int> wrong = 0, units = 0;
  scheduler_->parallel_for(30, 1, [&](std::int64_t, std::int64_t, unsigned outer) {
    const auto thread = std::this_thread::get_id();
    const auto inside = [&](unsigned worker) {
      ++units;
      if (worker != outer || std::this_thread::get_id() != thread) ++wrong;
    };
    scheduler_->parallel_for(8, 2, [&](std::int64_t, std::int64_t, unsigned middle) {
      inside(middle);
      scheduler_->parallel_for(2, 1, [&](std::int64_t, std::int64_t, unsigned inner) { inside(inner); });
    });
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(units, 30 * 4 * 3);
}

/// The innermost body is then another scheduler's, and what it calls is shared again.
TEST_P(OfScheduler, CallsThroughOtherSchedulersAreCallsOfTheirOwn) {
  const auto other = make_pool_scheduler(3);
  std::atomic<int> units = 0, clashes = 0;
  scheduler_->parallel_for(4, 1, [&](std::int64_t, std::int64_t, unsigned) {
    other->parallel_for(6, 2, [&](std::int64_t, std::int64_t, unsigned) {
      std::vector<std::atomic<bool>> taken(scheduler_->workers());
      scheduler_->parallel_for(5, 1, [&](std::int64_t begin, std::int64_t end, unsigned worker) {
        if (taken[worker].exchange(true)) ++clashes;
        units += static_cast<int>(end - begin);
        taken[worker] = false;
      });
    });
  });
  EXPECT_EQ(units, 4 * 3 * 5);
  EXPECT_EQ(clashes, 0);
}

TEST_P(OfScheduler, CallersOnSeveralThreads) {
  constexpr int kCallers = 6, kCalls = 200, kUnits = 37;
  std::vector<std::int64_t> sums(kCallers);
  {
    std::vector<std::jthread> callers;
    for (int c = 0; c < kCallers; ++c) {
      callers.emplace_back([&, c] {
        for (int k = 0; k < kCalls; ++k) {
          std::atomic<std::int64_t> sum = 0;
          scheduler_->parallel_for(kUnits, 1 + k % 5, [&](std::int64_t begin, std::int64_t end, unsigned) {
            for (std::int64_t u = begin; u < end; ++u) sum += u + c;
          });
          sums[static_cast<std::size_t>(c)] += sum;
        }
      });
    }
  }
  for (int c = 0; c < kCallers; ++c) {
    EXPECT_EQ(sums[static_cast<std::size_t>(c)], kCalls * (kUnits * (kUnits - 1) / 2 + kUnits * c));
  }
}

/// A caller whose call is done leaves, though another one's call lasts as long as the first is inside.
TEST_P(OfScheduler, CallersDoNotWaitForEachOther) {
  std::atomic<unsigned> long_ones = 0;
  std::atomic<bool> done = false;
  std::jthread other([&] {
    scheduler_->parallel_for(scheduler_->workers(), 1, [&](std::int64_t, std::int64_t, unsigned) {
      ++long_ones;
      while (!done) std::this_thread::yield();
    });
  });
  while (long_ones == 0) std::this_thread::yield();
  for (int k = 0; k < 50; ++k) {
    std::atomic<int> units = 0;
    scheduler_->parallel_for(20, 1, [&](std::int64_t, std::int64_t, unsigned) { ++units; });
    EXPECT_EQ(units, 20);
  }
  done = true;
}

TEST_P(OfScheduler, LimitsAreCurrentInBodies) {
  ExecutionLimits limits;
  const LimitsScope scope(&limits);
  std::atomic<int> others = 0;
  Meeting meeting(scheduler_->workers());
  scheduler_->parallel_for(scheduler_->workers(), 1, [&](std::int64_t, std::int64_t, unsigned) {
    meeting();
    if (ExecutionLimits::current() != &limits) ++others;
  });
  EXPECT_EQ(others, 0);
  const LimitsScope none(nullptr);
  scheduler_->parallel_for(40, 1, [&](std::int64_t, std::int64_t, unsigned) {
    if (ExecutionLimits::current() != nullptr) ++others;
  });
  EXPECT_EQ(others, 0);
}

/// Ranges that have not begun when the run is cancelled are left out: each worker may be inside one.
TEST_P(OfScheduler, WhatIsCancelledBeginsNoMoreRanges) {
  ExecutionLimits limits;
  const LimitsScope scope(&limits);
  for (int run = 0; run < 20; ++run) {
    limits.begin({});
    std::atomic<int> before = 0, after = 0;
    scheduler_->parallel_for(100'000, 1, [&](std::int64_t, std::int64_t, unsigned) {
      ++(limits.stopping() ? after : before);
      if (before >= 10) limits.cancel();  // two workers may count at once
    });
    EXPECT_GE(before, 10);
    EXPECT_LT(before + after, 10 + 2 * static_cast<int>(scheduler_->workers()));
    EXPECT_EQ(name_of(limits.reason().error().code), name_of(Code::cancelled));
    std::atomic<int> later = 0;
    scheduler_->parallel_for(10, 1, [&](std::int64_t, std::int64_t, unsigned) { ++later; });
    EXPECT_EQ(later, 0);
  }
}

TEST_P(OfScheduler, ADeadlineIsSeenByWorkers) {
  ExecutionLimits limits({.time = std::chrono::milliseconds(2)});
  const LimitsScope scope(&limits);
  std::atomic<int> ranges = 0;
  scheduler_->parallel_for(1'000'000, 1, [&](std::int64_t, std::int64_t, unsigned) {
    ++ranges;
    while (!stop_requested()) std::this_thread::yield();
  });
  EXPECT_LE(ranges, static_cast<int>(scheduler_->workers()));
  EXPECT_EQ(limits.reason().error().text(), "the run passed its deadline of 2 ms");
}

/// All workers charge one meter, and give back what they took.
TEST_P(OfScheduler, MemoryOfWorkersIsTheRuns) {
  constexpr std::size_t kEach = 1000, kMaximum = 20;
  ExecutionLimits limits({.memory_bytes = kEach * kMaximum, .time = {}});
  const LimitsScope scope(&limits);
  std::mutex mutex;
  std::vector<MemoryCharge> held;
  std::atomic<int> refused = 0;
  scheduler_->parallel_for(50, 1, [&](std::int64_t, std::int64_t, unsigned) {
    auto charge = MemoryCharge::make(kEach);
    if (!charge) {
      ++refused;
      return;
    }
    const std::scoped_lock lock(mutex);
    held.push_back(std::move(*charge));
  });
  EXPECT_EQ(held.size(), kMaximum);
  EXPECT_EQ(refused, 50 - static_cast<int>(kMaximum));
  EXPECT_EQ(limits.meter()->used(), kEach * kMaximum);
  held.clear();
  EXPECT_EQ(limits.meter()->used(), 0u);
}

/// Strings that threads count together pass the limit exactly once.
TEST_P(OfScheduler, TextOfWorkersIsCountedTogether) {
  ExecutionLimits limits({.memory_bytes = 300, .time = {}});
  const LimitsScope scope(&limits);
  std::atomic<int> counted = 0;
  scheduler_->parallel_for(1000, 1, [&](std::int64_t, std::int64_t, unsigned) {
    if (limits.count_text(10)) ++counted;
  });
  EXPECT_EQ(counted, 30);
  EXPECT_EQ(name_of(limits.reason().error().code), name_of(Code::limit));
}

TEST_P(OfScheduler, TheCallersRoundingIsSeenInBodies) {
  const FloatControl before = FloatControl::current();
  for (const int rounding : {FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    std::fesetround(rounding);
    const FloatControl mine = FloatControl::current();
    std::atomic<int> other = 0;
    Meeting meeting(scheduler_->workers());
    scheduler_->parallel_for(scheduler_->workers(), 1, [&](std::int64_t, std::int64_t, unsigned) {
      meeting();
      volatile float one = 1, tiny = 1e-10f;
      const bool up = one + tiny > 1;
      if (up != (rounding == FE_UPWARD) || FloatControl::current() != mine) ++other;
    });
    EXPECT_EQ(other, 0) << rounding;
    EXPECT_EQ(FloatControl::current(), mine);
  }
  before.apply();
}

#if defined(__SSE__)
TEST_P(OfScheduler, SubnormalsAreFlushedWhereTheCallerDoes) {
  constexpr unsigned kFlush = 0x8040;
  const unsigned before = _mm_getcsr();
  for (const unsigned flush : {kFlush, 0u}) {
    _mm_setcsr((before & ~kFlush) | flush);
    std::atomic<int> kept = 0;
    Meeting meeting(scheduler_->workers());
    scheduler_->parallel_for(scheduler_->workers(), 1, [&](std::int64_t, std::int64_t, unsigned) {
      meeting();
      volatile float small = 1e-38f;
      kept += small * 0.125f != 0;
    });
    EXPECT_EQ(kept, flush == 0 ? static_cast<int>(scheduler_->workers()) : 0);
  }
  _mm_setcsr(before);
}
#endif

std::string name_of_make(const ::testing::TestParamInfo<Make>& info) {
  const char* const kinds[] = {"Shared", "Pool", "Tbb"};
  return kinds[static_cast<int>(info.param.kind)] + std::to_string(info.param.threads);
}

/// Without oneTBB the shared ones are pools.
std::vector<Make> kinds() {
  std::vector<Make> all{{Kind::shared, 1}, {Kind::shared, 2}, {Kind::shared, 5}, {Kind::pool, 2}, {Kind::pool, 3}};
  if (make_tbb_scheduler(2) != nullptr) all.insert(all.end(), {{Kind::tbb, 2}, {Kind::tbb, 3}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Kinds, OfScheduler, ::testing::ValuesIn(kinds()), name_of_make);

TEST(Schedulers, AreSharedByTheNumberOfThreads) {
  const auto two = scheduler(2);
  EXPECT_EQ(scheduler(2), two);
  EXPECT_NE(scheduler(3), two);
  EXPECT_EQ(scheduler(0), scheduler(usable_cores()));
  EXPECT_EQ(scheduler(0)->workers(), usable_cores());
}

TEST(Schedulers, EndWhenNobodyHoldsThem) {
  for (int k = 0; k < 20; ++k) {
    std::weak_ptr<Scheduler> gone;
    std::atomic<int> units = 0;
    {
      const auto some = scheduler(4);
      gone = some;
      some->parallel_for(8, 1, [&](std::int64_t, std::int64_t, unsigned) { ++units; });
    }
    EXPECT_TRUE(gone.expired());
    EXPECT_EQ(units, 8);
  }
}

/// Everything is done at once, where a helper may still be on its way.
TEST(Schedulers, EndWhileHelpersAreComing) {
  for (int k = 0; k < 200; ++k) {
    for (const Kind kind : {Kind::pool, Kind::tbb}) {
      if (const auto some = make({kind, 4})) some->parallel_for(4, 1, [](std::int64_t, std::int64_t, unsigned) {});
    }
  }
}

/// Exit code of a child that runs `body`; -1: it ended by a signal.
template <class Body>
int exit_code_of_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool runs_alone(Scheduler& scheduler) {
  const auto thread = std::this_thread::get_id();
  int units = 0;
  bool alone = true;
  scheduler.parallel_for(100, 1, [&](std::int64_t, std::int64_t, unsigned worker) {
    ++units;
    if (worker != 0 || std::this_thread::get_id() != thread) alone = false;
  });
  return alone && units == 100;
}

TEST(Schedulers, AForksChildRunsEverythingItself) {
#if FRAZIL_TSAN
  GTEST_SKIP() << "the thread sanitizer does not follow children of several threads";
#endif
  auto two = scheduler(2);
  two->parallel_for(10, 1, [](std::int64_t, std::int64_t, unsigned) { work_for(std::chrono::microseconds(50)); });
  EXPECT_EQ(exit_code_of_child([&] { return runs_alone(*two); }), 0) << "its parent's";
  EXPECT_EQ(exit_code_of_child([&] { return runs_alone(*scheduler(7)); }), 0) << "a new one";
  EXPECT_EQ(exit_code_of_child([&] {
              two.reset();
              return runs_alone(*scheduler(2));
            }),
            0)
      << "after the parent's was let go";
  EXPECT_EQ(two->workers(), 2u);
  EXPECT_FALSE(threads_are_lost());
}

}  // namespace
}  // namespace frazil::test
