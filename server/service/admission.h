#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>

#include "server/access/tenants.h"
#include "server/core/clock.h"
#include "server/core/statistics.h"
#include "server/model/served.h"

namespace frazil::server {

/// The limit of running and waiting requests, and the forecast of their waiting time. Thread-safe.
class Admission {
 public:
  /// `workers`: threads that run requests. `max_waiting`: limit for running and waiting requests.
  Admission(unsigned workers, std::size_t max_waiting) : workers_(workers), max_waiting_(max_waiting) {}

  /// A place among the running and waiting requests; released by its destructor.
  using Place = std::shared_ptr<const void>;
  /// The known properties of a request before it is read.
  struct IncomingRequest {
    Tenants::Identity identity = {};
    const Served* target = nullptr;            ///< null: not known yet
    std::optional<Clock::duration> time_left;  ///< until its deadline
    std::size_t ahead = 0;                     ///< requests that have no place yet and get one before it
  };
  /// Takes a place for a request. Refuses with too_many if there is no place or the expected wait exceeds the remaining
  /// time, and with timeout if no time is left. Otherwise refuses as Served::refusal() and Tenants::Identity::enter().
  /// The object must outlive the place.
  std::expected<Place, Refusal> enter(const IncomingRequest& arriving);
  /// Returns the current refusal of enter() without taking a place.
  std::optional<Refusal> refusal(const IncomingRequest& arriving);
  /// Returns the expected wait of a new request for a worker, with `ahead` requests that enter before it.
  Clock::duration expected_wait(std::size_t ahead = 0) const;

  std::size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
  /// Returns the number of requests refused for lack of a place or of time.
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  std::expected<Nanoseconds, Refusal> admitted_cost(const IncomingRequest& arriving);
  void leave(Nanoseconds cost);

  const unsigned workers_;
  const std::size_t max_waiting_;
  std::atomic<std::size_t> waiting_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::int64_t> backlog_ns_ = 0;  // expected worker time of all admitted requests
  Mean cost_;                                 // expected cost of a request for any model
  // Mean time between completed requests while all workers are busy, including all other work of the server. Requests
  // of a batch complete together, so the mean needs many samples.
  Mean gap_{128};
  std::atomic<std::int64_t> last_left_ns_ = 0;
  std::atomic<bool> busy_ = false;
};

}  // namespace frazil::server
