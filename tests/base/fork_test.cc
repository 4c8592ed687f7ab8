// What the child of a fork() finds of locks and threads that its parent's other threads use.
#include "base/thread/fork.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits/deferred_free.h"
#include "base/os/log.h"
#include "base/os/sanitizers.h"
#include "base/thread/mutex.h"

namespace frazil {
namespace {

/// How a child that runs `body` ends: "0" if that is true, "1" if not, "hangs" where it has not ended after a minute.
std::string end_of_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  for (int i = 0; i < 60'000; ++i) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) {
      return WIFEXITED(status) ? std::to_string(WEXITSTATUS(status)) : "signal " + std::to_string(WTERMSIG(status));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return "hangs";
}

/// Threads that do something all the time.
class Busy {
 public:
  Busy(int count, std::function<void()> work) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, work] {
        while (!stop_) work();
      });
    }
  }
  ~Busy() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

class Fork : public testing::Test {
 protected:
  void SetUp() override {
#if FRAZIL_TSAN
    GTEST_SKIP() << "the thread sanitizer does not follow children of several threads";
#endif
  }
};

constexpr int kForks = 50;

/// Each entry has its key as its value; a map that was being changed would not be whole.
TEST_F(Fork, FindsLocksFreeAndWhatTheyGuardWhole) {
  Mutex mutex;
  std::map<int, std::unique_ptr<int>> numbers;
  std::atomic<int> next = 0;
  const Busy busy(3, [&] {
    const int n = ++next;
    const std::scoped_lock lock(mutex);
    numbers[n] = std::make_unique<int>(n);
    if (numbers.size() > 100) numbers.erase(numbers.begin());
  });
  for (int i = 0; i < kForks; ++i) {
    ASSERT_EQ(end_of_child([&] {
                const std::scoped_lock lock(mutex);
                bool whole = numbers.size() <= 101;
                for (const auto& [key, value] : numbers) whole = whole && *value == key;
                return whole && forks_whole();
              }),
              "0");
  }
}

TEST_F(Fork, WaitsForScopesAndNotForItsOwn) {
  std::atomic<int> inside = 0;
  const Busy busy(2, [&] {
    const NoFork scope;
    ++inside;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    --inside;
  });
  for (int i = 0; i < kForks; ++i) {
    const NoFork own;
    const NoFork inner;
    ASSERT_EQ(end_of_child([&] {
                const NoFork again;
                return inside == 0 && forks_whole();
              }),
              "0");
  }
}

TEST_F(Fork, CountsGenerations) {
  const std::uint64_t here = fork_generation();
  EXPECT_EQ(end_of_child([&] {
              return fork_generation() == here + 1 &&
                     end_of_child([&] { return fork_generation() == here + 2; }) == "0";
            }),
            "0");
  EXPECT_EQ(fork_generation(), here);
}

/// A condition variable of the system counts the threads that wait, which the child does not have.
TEST_F(Fork, ConditionsWorkAndGoWhereOthersWaited) {
  Mutex mutex;
  auto condition = std::make_unique<Condition>();
  std::atomic<bool> stop = false;
  std::thread waits([&] {
    std::unique_lock lock(mutex);
    condition->wait(lock, [&] { return stop.load(); });
  });
  for (int i = 0; i < kForks; ++i) {
    ASSERT_EQ(end_of_child([&] {
                bool ready = false, seen = false;
                std::thread other([&] {
                  std::unique_lock lock(mutex);
                  condition->wait(lock, [&] { return ready; });
                  seen = true;
                });
                {
                  const std::scoped_lock lock(mutex);
                  ready = true;
                }
                condition->notify_one();
                other.join();
                std::unique_lock lock(mutex);
                const bool late = condition->wait_for(lock, std::chrono::milliseconds(1), [] { return false; });
                lock.unlock();
                condition.reset();
                return seen && !late;
              }),
              "0");
  }
  {
    const std::scoped_lock lock(mutex);
    stop = true;
  }
  condition->notify_all();
  waits.join();
}

TEST_F(Fork, FreesWhatItsParentHadNotFreed) {
  struct Slow {
    static void destroy(void* freed) noexcept {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      ++*static_cast<std::atomic<int>*>(freed);
    }
  };
  std::atomic<int> freed = 0;
  for (int i = 0; i < 3; ++i) defer_free(&freed, &Slow::destroy, 100);
  EXPECT_EQ(end_of_child([&] {
              defer_free(&freed, &Slow::destroy, 100);
              while (wait_until_freed()) {
              }
              return freed >= 3;  // what the parent's thread was freeing is lost
            }),
            "0");
  wait_until_freed();
  EXPECT_EQ(freed, 3);
}

TEST_F(Fork, WritesToTheLog) {
  ::testing::internal::CaptureStderr();
  {
    const Busy busy(2, [] { logging::warn("threads", "a line"); });
    for (int i = 0; i < kForks; ++i) {
      EXPECT_EQ(end_of_child([] {
                  logging::warn("threads", "a line");
                  return true;
                }),
                "0");
    }
  }
  EXPECT_NE(::testing::internal::GetCapturedStderr(), "");
}

/// A scope that lasts longer than fork() waits: what it does not guard works.
TEST_F(Fork, GoesOnWhereAnotherThreadKeepsALock) {
  Mutex mutex, other;
  std::atomic<bool> holds = false, stop = false;
  std::thread keeps([&] {
    const std::scoped_lock lock(mutex);
    holds = true;
    while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (!holds) std::this_thread::yield();
  EXPECT_EQ(end_of_child([&] {
              const std::scoped_lock lock(other);
              return !forks_whole();
            }),
            "0");
  stop = true;
  keeps.join();
}

}  // namespace
}  // namespace frazil
