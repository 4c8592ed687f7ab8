#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/endless.h"
#include "api/message_of.h"
#include "api/square.h"

// Runs of one model by any number of threads.
namespace {

using frazil::Array;
using frazil::Code;
using frazil::Dtype;
using frazil::Model;
using frazil::PoolOptions;
using frazil::Results;
using frazil::SessionPool;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;

Array numbers(int first, int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(first + i));
  return Array::of<float>({count}, std::span<const float>(values));
}

std::vector<float> squares(const Results& out) {
  const auto values = out["y"].values<float>();
  return {values.begin(), values.end()};
}

/// Calls `work(thread)` on several threads.
void on_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

/// Waits until `done` holds, for at most 20 seconds.
bool eventually(const std::function<bool()>& done) {
  const auto end = steady_clock::now() + std::chrono::seconds(20);
  while (!done()) {
    if (steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

TEST(Pool, ThreadsGetTheResultsOfSequentialRuns) {
  const Model model = square_model();
  auto session = model.open();
  std::vector<std::vector<float>> wanted;
  for (int n = 0; n < 16; ++n) wanted.push_back(squares(session.run({{"x", numbers(n, n)}})));
  std::atomic<int> wrong = 0;
  on_threads(12, [&](int t) {
    for (int i = 0; i < 100; ++i) {
      const int n = (t * 7 + i) % 16;
      const Array x = numbers(n, n);
      const Results out = i % 2 == 0 ? model.run({{"x", x}}) : model.run(std::span(&x, 1));
      wrong += squares(out) != wanted[static_cast<std::size_t>(n)];
    }
  });
  EXPECT_EQ(wrong, 0);
  const auto counts = model.pool().counts();
  EXPECT_LE(counts.opened, 12u) << "sessions are used again";
  EXPECT_EQ(counts.idle, counts.sessions) << "all have been given back";
}

TEST(Pool, CopiesOfAHandleShareThePool) {
  const Model model = square_model(), same = model, other = model.with_pool({});
  same.run({{"x", numbers(1, 2)}});
  EXPECT_EQ(model.pool().counts().opened, 1u);
  EXPECT_EQ(other.pool().counts().opened, 0u);
}

TEST(Pool, OptionsAreThoseOfItsSessions) {
  const Model model = endless().with_pool({.session = {.deadline_ms = 20}});
  EXPECT_THAT(message_of([&] { model.run({{"x", Array::scalar(0.0f)}}); }, Code::limit), HasSubstr("deadline"));
}

TEST(Pool, NoMoreSessionsThanTheMaximum) {
  const SessionPool pool(square_model(), {.max_sessions = 2});
  {
    const auto a = pool.acquire(), b = pool.acquire();
    EXPECT_FALSE(pool.try_acquire());
  }
  std::atomic<int> running = 0, most = 0;
  on_threads(8, [&](int t) {
    for (int i = 0; i < 20; ++i) {
      auto session = pool.acquire();
      const int now = ++running;
      for (int before = most; before < now && !most.compare_exchange_weak(before, now);) continue;
      EXPECT_EQ(squares(session->run({{"x", numbers(t, 1)}})), std::vector<float>{static_cast<float>(t * t)});
      --running;
    }
  });
  EXPECT_LE(most, 2);
  EXPECT_EQ(pool.counts().opened, 2u);
}

TEST(Pool, FullPools) {
  const SessionPool pool(square_model(), {.max_sessions = 1});
  std::optional<SessionPool::Lease> held = pool.acquire();
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_FALSE(pool.try_acquire_idle());
  const auto begin = steady_clock::now();
  EXPECT_FALSE(pool.acquire_until(begin + milliseconds(30)));
  EXPECT_GE(steady_clock::now() - begin, milliseconds(30));
  auto waiting = std::async(std::launch::async, [&] { return squares(pool.run({{"x", numbers(3, 1)}})); });
  ASSERT_TRUE(eventually([&] { return pool.counts().waiting == 1; }));
  held.reset();
  EXPECT_THAT(waiting.get(), ElementsAre(9));
  EXPECT_TRUE(pool.try_acquire_idle());
  EXPECT_TRUE(pool.try_acquire());
}

TEST(Pool, WaitingCallsAreServedInTheirOrder) {
  const SessionPool pool(square_model(), {.max_sessions = 1});
  std::optional<SessionPool::Lease> held = pool.acquire();
  std::vector<int> order;  // guarded by the only session
  std::vector<std::thread> threads;
  for (int t = 0; t < 5; ++t) {
    threads.emplace_back([&, t] {
      const auto lease = pool.acquire();
      order.push_back(t);
    });
    ASSERT_TRUE(eventually([&] { return pool.counts().waiting == static_cast<std::size_t>(t) + 1; }));
  }
  held.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(Pool, TheDeadlineOfARunCountsWhileItWaits) {
  const SessionPool pool(square_model(), {.session = {.deadline_ms = 30}, .max_sessions = 1});
  std::optional<SessionPool::Lease> held = pool.acquire();
  EXPECT_THAT(message_of([&] { pool.run({{"x", numbers(0, 1)}}); }, Code::limit), HasSubstr("waited for a session"));
  held.reset();
  EXPECT_THAT(squares(pool.run({{"x", numbers(2, 1)}})), ElementsAre(4));
}

TEST(Pool, AFailedRunLeavesItsSessionUsable) {
  const Model model = square_model().with_pool({.max_sessions = 1});
  const Array wrong = Array::of<std::int64_t>({1}, {3});
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(message_of([&] { model.run({{"x", wrong}}); }, Code::bad_input), HasSubstr("'x'"));
    EXPECT_THAT(squares(model.run({{"x", numbers(5, 1)}})), ElementsAre(25));
  }
  EXPECT_EQ(model.pool().counts().opened, 1u);
}

TEST(Pool, WhatAUserSetsOnASessionEndsWithTheLease) {
  struct Counting : frazil::Observer {
    int runs = 0;
    void run_begin() override { ++runs; }
  };
  const SessionPool pool(square_model(), {.max_sessions = 1});
  std::vector<float> memory(2, -1);
  const std::atomic<bool> stop = true;
  Counting counting;
  auto context = std::make_shared<int>(1);
  const std::weak_ptr<int> kept = context;
  frazil::Profiler profiler;
  {
    const auto session = pool.acquire();
    session->bind_output("y", std::span(memory));
    session->set_observer(&counting);
    session->start_profile(profiler);
    session->set_deadline(1e-6);
    session->set_context(std::exchange(context, nullptr));
    session->set_stop(&stop);
    EXPECT_THROW(session->run({{"x", numbers(1, 2)}}), frazil::Error);
  }
  EXPECT_TRUE(kept.expired());
  const int before = counting.runs;
  EXPECT_THAT(squares(pool.run({{"x", numbers(1, 2)}})), ElementsAre(1, 4));
  EXPECT_EQ(counting.runs, before);
  EXPECT_THAT(memory, ElementsAre(-1, -1));
  EXPECT_EQ(pool.counts().opened, 1u);
  EXPECT_NO_THROW(pool.acquire()->start_profile(profiler)) << "the profiler is free again";
}

TEST(Pool, ALeaseWithARequestInFlightCancelsIt) {
  const SessionPool pool(endless(), {.max_sessions = 1});
  std::future<Results> request;
  {
    const auto session = pool.acquire();
    request = session->run_async({Array::scalar(0.0f)});
  }
  EXPECT_THROW(request.get(), frazil::Error);
  EXPECT_EQ(pool.counts().sessions, 0u) << "that session is closed";
  EXPECT_TRUE(pool.try_acquire());
}

/// A model whose session holds about `bytes` bytes between runs of `count` elements.
Model sorting() {
  return Model::from_text("graph s(%x: f32[N]) { %y, %i = TopK(%x, i64[1] 1) %z = Add(%y, f32[1] 1) return y = %z }");
}

TEST(Pool, MemoryBoundsSessions) {
  const Model model = sorting();
  auto probe = model.open();
  probe.run({{"x", numbers(0, 50'000)}});
  const std::uint64_t one = probe.counters().held_bytes;
  ASSERT_GT(one, 0u) << "the model needs memory between runs";
  struct Case {
    std::uint64_t limit;
    std::size_t sessions;
  };
  for (const auto& [limit, sessions] : {Case{one / 2, 1}, Case{one, 1}, Case{2 * one, 2}, Case{5 * one, 4}}) {
    const SessionPool pool(model, {.max_sessions = 4, .memory_limit = limit});
    pool.run({{"x", numbers(0, 50'000)}});  // from now on the pool expects as much of a session
    std::vector<SessionPool::Lease> leases;
    while (auto lease = pool.try_acquire()) leases.push_back(std::move(*lease));
    EXPECT_EQ(leases.size(), sessions) << "limit " << limit << ", one session holds " << one;
  }
}

TEST(Pool, IdleSessionsBeyondTheMemoryLimitAreClosed) {
  const Model model = sorting();
  const SessionPool pool(model, {.memory_limit = 1});
  {
    auto a = pool.acquire();
    EXPECT_FALSE(pool.try_acquire() && false) << "nothing is held yet";
    a->run({{"x", numbers(0, 50'000)}});
  }
  EXPECT_EQ(pool.counts().idle, 1u) << "one session is always allowed";
  EXPECT_FALSE([&] {
    auto a = pool.acquire();
    return pool.try_acquire().has_value();
  }()) << "a second one would exceed the limit";
}

TEST(Pool, IdleSessionsCanBeDropped) {
  const SessionPool pool(square_model());
  {
    const auto a = pool.acquire(), b = pool.acquire();
  }
  EXPECT_EQ(pool.counts().idle, 2u);
  EXPECT_EQ(pool.drop_idle(std::chrono::hours(1)), 0u);
  EXPECT_EQ(pool.drop_idle(), 2u);
  EXPECT_EQ(pool.counts().sessions, 0u);
  EXPECT_THAT(squares(pool.run({{"x", numbers(2, 1)}})), ElementsAre(4));
}

TEST(Pool, SessionsBeyondTheMostIdleOnesAreClosed) {
  const SessionPool pool(square_model(), {.max_idle = 2});
  {
    std::vector<SessionPool::Lease> leases;
    for (int i = 0; i < 5; ++i) leases.push_back(pool.acquire());
    EXPECT_EQ(pool.counts().sessions, 5u) << "the bound is not one of sessions in use";
  }
  EXPECT_EQ(pool.counts().sessions, 2u);
  EXPECT_EQ(pool.counts().idle, 2u);
  (void)pool.acquire();
  EXPECT_EQ(pool.counts().opened, 5u) << "an idle session is used again";

  const SessionPool none(square_model(), {.max_idle = 0});
  EXPECT_THAT(squares(none.run({{"x", numbers(2, 1)}})), ElementsAre(4));
  EXPECT_EQ(none.counts().sessions, 0u);
}

/// A function of a run that runs the model again must not wait for a session of its own caller.
TEST(Pool, RunsInsideRunsDoNotWait) {
  static const Model inner = square_model().with_pool({.max_sessions = 1});
  frazil::HostOperator op{.name = "RunsInside", .domain = "com.pool"};
  op.types = [](const frazil::NodeAttributes&, std::span<const frazil::TensorType> in) { return std::vector{in[0]}; };
  op.run = [](const frazil::NodeAttributes&, std::span<const Array> in) {
    const auto held = inner.pool().acquire();  // takes the only session
    return std::vector{inner.run({{"x", in[0]}})["y"]};
  };
  frazil::register_operator(op);
  const Model outer = Model::from_text("graph o(%x: f32[N]) { %y = com.pool::RunsInside(%x) return y = %y }");
  EXPECT_THAT(squares(outer.run({{"x", numbers(2, 2)}})), ElementsAre(4, 9));
}

TEST(Pool, InvalidOptions) {
  const Model model = square_model();
  EXPECT_THAT(message_of([&] { model.with_pool({.max_sessions = 0}); }, Code::bad_input), HasSubstr("max_sessions"));
  EXPECT_THAT(message_of([&] { model.with_pool({.session = {.tier = "fast"}}); }, Code::bad_input), HasSubstr("fast"));
  const Model threads = model.with_pool({.session = {.threads = 5000}, .max_sessions = 1});
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(message_of([&] { threads.run({{"x", numbers(1, 1)}}); }, Code::bad_input), HasSubstr("threads"))
        << "a session that cannot be opened leaves its place";
  }
}

TEST(Pool, AChildOfForkHasThePoolWithoutSessionsInUse) {
  const SessionPool pool(square_model(), {.max_sessions = 1});
  (void)pool.run({{"x", numbers(1, 1)}});
  std::optional<SessionPool::Lease> held = pool.acquire();
  const pid_t child = fork();
  if (child == 0) {
    const auto lease = pool.try_acquire();
    _exit(lease && squares((*lease)->run({{"x", numbers(3, 1)}})) == std::vector<float>{9} ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  held.reset();
  EXPECT_EQ(pool.counts().idle, 1u);
}

/// Many threads acquire in every way while sessions are dropped.
TEST(Pool, StaysConsistentUnderContention) {
  const SessionPool pool(square_model(), {.max_sessions = 3});
  std::atomic<int> served = 0;
  on_threads(8, [&](int t) {
    for (int i = 0; i < 200; ++i) {
      switch ((t + i) % 4) {
        case 0: served += squares(pool.run({{"x", numbers(i, 1)}}))[0] == static_cast<float>(i * i); break;
        case 1: served += pool.try_acquire().has_value(); break;
        case 2: served += pool.acquire_until(steady_clock::now() + milliseconds(1)).has_value(); break;
        default: pool.drop_idle(); break;
      }
      EXPECT_LE(pool.counts().sessions, 3u);
    }
  });
  EXPECT_GT(served, 400);
  const auto counts = pool.counts();
  EXPECT_EQ(counts.idle, counts.sessions);
  EXPECT_EQ(counts.waiting, 0u);
}

}  // namespace
