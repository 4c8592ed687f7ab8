#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace frazil::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Functions that wait until a thread of the queue calls them, in random order.
class Queue {
 public:
  explicit Queue(std::size_t threads, std::uint64_t seed = 1) : random_(seed) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~Queue() {
    {
      const std::scoped_lock lock(mutex_);
      ends_ = true;
    }
    came_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void post(std::function<void()> task) {
    {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    came_.notify_one();
  }
  std::size_t waiting() {
    const std::scoped_lock lock(mutex_);
    return tasks_.size();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      came_.wait(lock, [&] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      std::swap(tasks_[random_() % tasks_.size()], tasks_.back());
      const auto task = std::move(tasks_.back());
      tasks_.pop_back();
      lock.unlock();
      task();
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::function<void()>> tasks_;
  std::mt19937_64 random_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

/// The operators of this file reply later, on a thread of this queue.
Queue& repliers() {
  static auto& queue = *new Queue(2);
  return queue;
}

/// Calls that wait until the test replies.
struct Held {
  std::mutex mutex;
  std::vector<std::pair<HostStart, HostReply>> calls;
  std::size_t count() {
    const std::scoped_lock lock(mutex);
    return calls.size();
  }
  HostReply take() {
    const std::scoped_lock lock(mutex);
    HostReply reply = calls.back().second;
    calls.pop_back();
    return reply;
  }
};
Held& held() {
  static auto& held = *new Held;
  return held;
}

std::vector<Array> scaled(const HostStart& call) {
  Array y = call.inputs[0];
  const auto by = static_cast<float>(call.attributes.real("by"));
  for (float& v : y.mutable_values<float>()) v = v * by + 1;
  return {y};
}

/// Keeps the rows of `x` whose first element is positive: an extent that only the reply decides.
std::vector<Array> positive_rows(const Array& x) {
  const std::int64_t width = x.sizes()[1];
  std::vector<float> kept;
  for (std::int64_t r = 0; r < x.sizes()[0]; ++r) {
    const auto row = x.values<float>().subspan(static_cast<std::size_t>(r * width), static_cast<std::size_t>(width));
    if (row[0] > 0) kept.insert(kept.end(), row.begin(), row.end());
  }
  return {Array::of<float>({static_cast<std::int64_t>(kept.size()) / width, width}, kept)};
}

void register_operators() {
  static const bool once = [] {
    const auto same = [](const NodeAttributes&, std::span<const TensorType> in) { return std::vector{in[0]}; };
    HostOperator scale{.name = "Scale", .domain = "async.test", .attributes = {{"by", 2.0F}}, .types = same};
    scale.start = [](HostStart call, HostReply reply) {
      const auto results = scaled(call);
      repliers().post([reply, results] { reply.give(results); });
    };
    register_operator(scale);
    HostOperator at_once = scale;
    at_once.name = "AtOnce";
    at_once.start = [](HostStart call, HostReply reply) { reply.give(scaled(call)); };
    register_operator(at_once);
    HostOperator rows{.name = "Rows", .domain = "async.test"};
    rows.types = [](const NodeAttributes&, std::span<const TensorType> in) {
      TensorType out = in[0];
      out.dims[0] = "?";
      return std::vector{out};
    };
    rows.start = [](HostStart call, HostReply reply) {
      repliers().post([reply, x = call.inputs[0]] { reply.give(positive_rows(x)); });
    };
    register_operator(rows);
    HostOperator hold{.name = "Hold", .domain = "async.test", .pure = false, .types = same};
    hold.start = [](HostStart call, HostReply reply) {
      const std::scoped_lock lock(held().mutex);
      held().calls.emplace_back(std::move(call), std::move(reply));
    };
    register_operator(hold);
    return true;
  }();
  static_cast<void>(once);
}

Model model_of(const std::string& body, const std::string& inputs = "%x: f32[N,4]") {
  register_operators();
  return Model::from_text("graph g(" + inputs + ") {\n" + body + "\n}");
}

struct Outcome {
  Results results;
  std::string error;
  std::optional<Code> code;
};

/// Starts a run and returns its outcome.
std::future<Outcome> begin(Session& session, std::vector<Array> inputs, Session::Post post) {
  auto promise = std::make_shared<std::promise<Outcome>>();
  auto future = promise->get_future();
  session.start(std::move(inputs), std::move(post), [promise](Results results, std::exception_ptr why) {
    Outcome outcome{.results = std::move(results), .error = {}, .code = {}};
    try {
      if (why) std::rethrow_exception(why);
    } catch (const Error& error) {
      outcome.error = error.what();
      outcome.code = error.code();
    }
    promise->set_value(std::move(outcome));
  });
  return future;
}

Array random_rows(std::mt19937& random, std::int64_t rows) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(rows * 4));
  for (float& v : values) v = normal(random);
  return Array::of<float>({rows, 4}, values);
}

const char* const kPrograms[] = {
    // Operators in a row, beside fused steps.
    R"(%a = async.test::Scale(%x) {by = 1.5}
       %b = Tanh(%a)
       %c = async.test::AtOnce(%b) {by = -2.0}
       %d = async.test::Scale(%c) {by = 0.5}
       %e = Add(%d, %a)
       return y = %e)",
    // Operators in a branch, and in a loop whose extents change.
    R"(%sum = ReduceSum(%x) {keepdims = 0}
       %more = Greater(%sum, f32[] 0)
       %r = If(%more) then_branch() {
         %p = async.test::Scale(%x) {by = 3}
         yield %p
       } else_branch() {
         %q = Neg(%x)
         yield %q
       }
       %z = Loop(i64[] 3, _, %r) body(%i, %on, %v) {
         %w = async.test::Rows(%v)
         %s = async.test::Scale(%w) {by = 0.75}
         %t = Sub(%s, f32[] 0.125)
         yield %on, %t
       }
       return y = %z)",
};

class AsyncOperators : public testing::TestWithParam<std::tuple<std::size_t, std::string>> {};

/// A run in parts has the same bits as a run that waits on its thread, for replies in random order.
TEST_P(AsyncOperators, GiveWhatAWaitingRunGives) {
  const auto& [program, tier] = GetParam();
  const Model model = model_of(kPrograms[program]);
  Session plain = model.open({.tier = tier});
  std::mt19937 random(7);
  Queue workers(2);
  std::vector<Session> sessions;
  for (int i = 0; i < 12; ++i) sessions.push_back(model.open({.tier = tier}));
  for (int round = 0; round < 8; ++round) {
    std::vector<Array> inputs;
    std::vector<std::future<Outcome>> runs;
    for (Session& session : sessions) {
      inputs.push_back(random_rows(random, 1 + static_cast<std::int64_t>(random() % 9)));
      runs.push_back(
          begin(session, {inputs.back()}, [&](std::function<void()> part) { workers.post(std::move(part)); }));
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const Outcome got = runs[i].get();
      ASSERT_EQ(got.error, "");
      const Results expected = plain.run({{"x", inputs[i]}});
      EXPECT_EQ(got.results["y"].sizes(), expected["y"].sizes());
      EXPECT_THAT(got.results["y"].values<float>(), testing::ElementsAreArray(expected["y"].values<float>()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, AsyncOperators,
                         testing::Combine(testing::Range<std::size_t>(0, std::size(kPrograms)),
                                          testing::Values("ref", "0", "1", "2")));

class HeldCalls : public testing::Test {
 protected:
  static Array one() { return Array::of<float>({1, 4}, {1, 2, 3, 4}); }
  std::future<Outcome> begin_held(Session& session) {
    auto run = begin(session, {one()}, [this](std::function<void()> part) { workers_.post(std::move(part)); });
    EXPECT_EQ(held().count(), 1U);
    EXPECT_EQ(run.wait_for(20ms), std::future_status::timeout);
    return run;
  }
  void TearDown() override { held().calls.clear(); }

  Model model_ = model_of("%a = async.test::Hold(%x)\n%b = async.test::AtOnce(%a) {by = 10.0}\nreturn y = %b");
  Queue workers_{1};
};

TEST_F(HeldCalls, HoldNoThread) {
  std::vector<Session> sessions;
  std::vector<std::future<Outcome>> runs;
  for (int i = 0; i < 100; ++i) {
    sessions.push_back(model_.open());
    runs.push_back(
        begin(sessions.back(), {one()}, [this](std::function<void()> part) { workers_.post(std::move(part)); }));
  }
  EXPECT_EQ(held().count(), 100U);
  EXPECT_EQ(workers_.waiting(), 0U);
  for (int i = 0; i < 100; ++i) held().take().give({one()});
  for (auto& run : runs) EXPECT_EQ(run.get().results["y"].values<float>()[3], 41);
}

TEST_F(HeldCalls, ReceiveContextAndDeadline) {
  Session session = model_.open({.deadline_ms = 60'000});
  const auto context = std::make_shared<int>(5);
  session.set_context(context);
  const auto run = begin_held(session);
  EXPECT_EQ(held().calls[0].first.context, context);
  ASSERT_TRUE(held().calls[0].first.deadline);
  EXPECT_GT(*held().calls[0].first.deadline, std::chrono::steady_clock::now() + 50s);
  held().take().give({one()});
  run.wait();
}

TEST_F(HeldCalls, EndWithTheErrorOfTheReply) {
  Session session = model_.open();
  auto run = begin_held(session);
  held().take().fail(std::make_exception_ptr(Error(Code::limit, "the other side is busy")));
  const Outcome outcome = run.get();
  EXPECT_EQ(outcome.code, Code::limit);
  EXPECT_THAT(outcome.error, testing::AllOf(HasSubstr("Hold"), HasSubstr("the other side is busy")));
}

TEST_F(HeldCalls, FailWithoutAReply) {
  Session session = model_.open();
  auto run = begin_held(session);
  (void)held().take();
  EXPECT_THAT(run.get().error, HasSubstr("ended without a reply"));
}

TEST_F(HeldCalls, FailForAResultOfAnotherType) {
  Session session = model_.open();
  auto run = begin_held(session);
  held().take().give({Array::of<std::int64_t>({1, 4}, {1, 2, 3, 4})});
  EXPECT_THAT(run.get().error, HasSubstr("gives i64[1,4] as output 0, promised f32"));
}

TEST_F(HeldCalls, OnlyTheFirstReplyCounts) {
  Session session = model_.open();
  auto run = begin_held(session);
  const HostReply reply = held().take();
  reply.give({one()});
  reply.fail(std::make_exception_ptr(std::runtime_error("late")));
  EXPECT_EQ(run.get().error, "");
}

TEST_F(HeldCalls, EndByCancelAndTheSessionRunsAgain) {
  Session session = model_.open();
  auto run = begin_held(session);
  session.cancel();
  EXPECT_EQ(run.get().code, Code::cancelled);
  held().take().give({one()});  // late: nobody waits
  auto next = begin_held(session);
  held().take().give({one()});
  EXPECT_EQ(next.get().results["y"].values<float>()[0], 11);
}

TEST_F(HeldCalls, EndWithTheSession) {
  std::optional<Session> session = model_.open();
  auto run = begin_held(*session);
  session.reset();
  EXPECT_EQ(run.get().code, Code::cancelled);
  held().take().give({one()});
}

TEST_F(HeldCalls, KeepTheSessionBusy) {
  Session session = model_.open();
  auto run = begin_held(session);
  EXPECT_THROW(session.run({{"x", one()}}), Error);
  held().take().give({one()});
  run.wait();
}

TEST_F(HeldCalls, PassTheDeadlineOfTheRun) {
  Session session = model_.open({.deadline_ms = 5});
  auto run = begin_held(session);
  held().take().give({one()});
  EXPECT_EQ(run.get().code, Code::limit);
}

TEST_F(HeldCalls, ADoneThatDestroysTheSession) {
  auto session = std::make_unique<Session>(model_.open());
  std::promise<void> ended;
  session->start(
      {one()}, [this](std::function<void()> part) { workers_.post(std::move(part)); },
      [&](const Results&, const std::exception_ptr&) {
        session.reset();
        ended.set_value();
      });
  held().take().give({one()});
  ended.get_future().wait();
  EXPECT_EQ(session, nullptr);
}

TEST_F(HeldCalls, AWaitingRunIsCancelled) {
  Session session = model_.open();
  std::thread canceller([&] {
    while (held().count() == 0) std::this_thread::yield();
    session.cancel();
  });
  try {
    session.run({{"x", one()}});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::cancelled);
  }
  canceller.join();
}

TEST(AsyncOperator, NeedsOneFunction) {
  HostOperator both{.name = "Both", .domain = "async.test"};
  both.types = [](const NodeAttributes&, std::span<const TensorType> in) { return std::vector{in[0]}; };
  EXPECT_THROW(register_operator(both), Error);
  both.run = [](const NodeAttributes&, std::span<const Array> in) { return std::vector{in[0]}; };
  both.start = [](const HostStart&, const HostReply&) {};
  EXPECT_THROW(register_operator(both), Error);
}

/// Runs are cancelled and sessions destroyed at random times while others reply.
TEST(AsyncOperator, SurvivesRandomEnds) {
  const Model model = model_of(kPrograms[1]);
  std::mt19937 random(11);
  Queue workers(2);
  std::vector<std::future<Outcome>> runs;
  std::size_t complete = 0;
  for (int round = 0; round < 300; ++round) {
    auto session = std::make_unique<Session>(model.open());
    runs.push_back(
        begin(*session, {random_rows(random, 4)}, [&](std::function<void()> part) { workers.post(std::move(part)); }));
    if (random() % 4 == 0) session->cancel();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    if (random() % 2 == 0) session->cancel();
    if (random() % 2 == 0) runs.back().wait();
  }
  for (auto& run : runs) {
    const Outcome outcome = run.get();
    if (outcome.code) EXPECT_EQ(outcome.code, Code::cancelled) << outcome.error;
    complete += outcome.code ? 0 : 1;
  }
  EXPECT_GT(complete, 10U);
  EXPECT_LT(complete, 300U);
}

}  // namespace
}  // namespace frazil::test
