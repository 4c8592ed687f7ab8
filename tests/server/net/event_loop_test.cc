// The loop of a thread that reads sockets: when it polls, and when it sleeps.
#include "server/net/event_loop.h"

#include <stdexcept>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gtest/gtest.h>

namespace frazil::test {
namespace {

namespace asio = boost::asio;
using server::Clock;
using std::chrono::milliseconds;

/// Events one after the other, `distance` apart. Returns how often the loop asked whether it may poll.
int asked(Clock::duration busy_poll, Clock::duration distance, int events, bool answer = true) {
  asio::io_context context{1};
  asio::steady_timer timer(context);
  int left = events, count = 0;
  const std::function<void()> next = [&] {
    if (--left == 0) return;
    timer.expires_after(distance);
    timer.async_wait([&](boost::system::error_code) { next(); });
  };
  asio::post(context, next);
  server::run_events(context, busy_poll, [&] { return ++count, answer; });
  EXPECT_EQ(left, 0);
  return count;
}

TEST(EventLoop, PollsBetweenEventsThatFollowFast) { EXPECT_GT(asked(milliseconds(20), milliseconds(1), 100), 100); }

TEST(EventLoop, SleepsBetweenRareEvents) { EXPECT_EQ(asked(milliseconds(1), milliseconds(5), 30), 0); }

TEST(EventLoop, AsksOnceIfItMustNotPoll) {
  const int count = asked(milliseconds(20), milliseconds(1), 100, false);
  EXPECT_GT(count, 0);
  EXPECT_LE(count, 100);
}

TEST(EventLoop, NeverPollsWithoutATime) { EXPECT_EQ(asked(Clock::duration::zero(), milliseconds(1), 20), 0); }

TEST(EventLoop, EndsWhenTheContextIsStopped) {
  asio::io_context context{1};
  const auto work = asio::make_work_guard(context);
  int polls = 0;
  for (int i = 0; i < 100; ++i) asio::post(context, [] {});
  asio::steady_timer end(context, milliseconds(5));
  end.async_wait([&](boost::system::error_code) { context.stop(); });
  server::run_events(context, milliseconds(50), [&] { return ++polls > 0; });
  EXPECT_TRUE(context.stopped());
}

TEST(EventLoop, PassesExceptionsOn) {
  asio::io_context context{1};
  asio::post(context, [] { throw std::runtime_error("from a handler"); });
  EXPECT_THROW(server::run_events(context, milliseconds(1), [] { return true; }), std::runtime_error);
}

}  // namespace
}  // namespace frazil::test
