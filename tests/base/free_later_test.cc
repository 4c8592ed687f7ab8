#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "base/limits/deferred_free.h"
#include "base/limits/execution_limits.h"

namespace frazil {
namespace {

struct Job {
  std::atomic<int>* done;
  std::atomic<bool>* may_end = nullptr;
};

void destroy(void* what) noexcept {
  const std::unique_ptr<Job> job(static_cast<Job*>(what));
  while (job->may_end != nullptr && !*job->may_end) std::this_thread::yield();
  ++*job->done;
}

TEST(FreeLater, EndsEverythingOnce) {
  std::atomic<int> done = 0;
  for (int i = 0; i < 1000; ++i) defer_free(new Job{&done}, &destroy, 10);
  wait_until_freed();
  EXPECT_EQ(done, 1000);
  EXPECT_FALSE(wait_until_freed());
}

TEST(FreeLater, DoesNotWait) {
  std::atomic<int> done = 0;
  std::atomic<bool> may_end = false;
  defer_free(new Job{&done, &may_end}, &destroy, 10);
  EXPECT_EQ(done, 0);
  may_end = true;
  EXPECT_TRUE(wait_until_freed());
  EXPECT_EQ(done, 1);
}

/// Jobs beyond the byte or count limit of the queue run immediately.
TEST(FreeLater, IsBounded) {
  std::atomic<int> done = 0, held = 0;
  std::atomic<bool> may_end = false;
  defer_free(new Job{&held, &may_end}, &destroy, std::size_t{200} << 20);
  defer_free(new Job{&done}, &destroy, std::size_t{100} << 20);
  EXPECT_EQ(done, 1);
  for (int i = 0; i < 1000; ++i) defer_free(new Job{&done}, &destroy, 0);
  EXPECT_GT(done, 900);
  may_end = true;
  wait_until_freed();
  EXPECT_EQ(done, 1001);
  EXPECT_EQ(held, 1);
}

/// Queued bytes count against the memory limit; an allocation that needs them waits until they are freed.
TEST(FreeLater, TheMemoryLimitWaits) {
  ExecutionLimits execution_limits(Limits{.memory_bytes = 1000, .tensor_elements = {}, .time = {}});
  const LimitsScope scope(&execution_limits);
  auto* charge = new MemoryCharge(std::move(MemoryCharge::make(800).value()));
  defer_free(charge, [](void* what) noexcept { delete static_cast<MemoryCharge*>(what); }, 800);
  EXPECT_TRUE(MemoryCharge::make(900));
  EXPECT_FALSE(MemoryCharge::make(1001));
}

}  // namespace
}  // namespace frazil
