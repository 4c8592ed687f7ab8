#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace frazil::server {

/// Counts the requests that have been let in and whose bodies are being read. They will wait for a worker, too. So a
/// later request is refused before its body is read if they take the last places or too much of its time. A request
/// counts in the round of the event loop in which it was let in and in the next one; later, its client is slow, and
/// others may overtake it.
///
/// Used on the thread that runs the context.
class RequestsBeingRead {
 public:
  using Round = std::uint64_t;

  explicit RequestsBeingRead(boost::asio::io_context& context) : context_(context) {}

  std::size_t count() const { return counts_[0] + counts_[1]; }
  /// Returns the current round, for remove().
  Round add() {
    end_round_later();
    ++of(round_);
    return round_;
  }
  /// Removes a request that was added in a round.
  void remove(Round added) {
    if (added + 1 >= round_) --of(added);
  }

 private:
  std::size_t& of(Round round) { return counts_[round % counts_.size()]; }
  /// Ends the round after the events that have arrived by then are known.
  void end_round_later() {
    if (std::exchange(ends_, true)) return;
    boost::asio::post(context_, [this] {
      ends_ = false;
      of(++round_) = 0;
      if (count() > 0) end_round_later();
    });
  }

  boost::asio::io_context& context_;
  Round round_ = 1;
  std::array<std::size_t, 2> counts_{};  // of the current and the last round
  bool ends_ = false;
};

}  // namespace frazil::server
