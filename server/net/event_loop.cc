#include "server/net/event_loop.h"

#include <algorithm>

namespace frazil::server {
namespace {

/// The mean time that the thread has waited for an event.
class ExpectedWait {
 public:
  explicit ExpectedWait(Clock::duration busy_poll) : busy_poll_(busy_poll), mean_(kMost * busy_poll) {}

  bool is_short() const { return mean_ < busy_poll_; }
  void add(Clock::duration wait) {
    constexpr int kSamples = 8;
    mean_ += (std::min(wait, kMost * busy_poll_) - mean_) / kSamples;
  }

 private:
  static constexpr int kMost = 4;  // of a wait, in busy polls: after a pause, a few short waits suffice
  const Clock::duration busy_poll_;
  Clock::duration mean_;
};

/// Polls until a handler has run or the time is over. Returns true if a handler has run.
bool poll_until(boost::asio::io_context& context, Clock::time_point end, const std::function<bool()>& may_poll) {
  while (!context.stopped() && may_poll() && Clock::now() < end) {
    if (context.poll() > 0) return true;
  }
  return false;
}

}  // namespace

void run_events(boost::asio::io_context& context, Clock::duration busy_poll, const std::function<bool()>& may_poll) {
  if (busy_poll == Clock::duration::zero()) return void(context.run());
  ExpectedWait expected(busy_poll);
  while (!context.stopped()) {
    context.poll();
    const auto begun = Clock::now();
    if (!expected.is_short() || !poll_until(context, begun + busy_poll, may_poll)) context.run_one();
    expected.add(Clock::now() - begun);
  }
}

}  // namespace frazil::server
