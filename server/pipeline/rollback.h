#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/core/notice.h"
#include "server/core/statistics.h"

// Rollback of a split's arm that performs worse than its rules allow.
namespace frazil::server {

/// Returns true if `events` of n are significantly more than expected at probability p. An exact binomial test with a
/// significance level of 1e-5, as it is applied repeatedly.
bool is_beyond_chance(std::uint64_t events, std::uint64_t n, double p);

/// The limits that an arm must keep. Plain data.
struct RollbackRules {
  struct Limit {
    std::string quantile;  ///< "p99"
    double share;          ///< 0.99
    Nanoseconds most;
  };
  std::optional<double> errors;  ///< share of requests that may fail
  std::vector<Limit> limits;     ///< for the durations of requests
  std::optional<double> worse;   ///< largest factor between arm and baseline, for the share of failures and the p99
  std::uint64_t least = 200;     ///< minimum number of requests before a decision
  Nanoseconds window = std::chrono::seconds(60);

  std::string text() const;  ///< equal for equal rules
};

/// A sliding window of recent requests. Not thread-safe.
class RecentRequests {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Sums {
    std::uint64_t requests = 0, failed = 0;
    std::vector<std::uint64_t> over;  ///< per limit: requests that took longer
    FineHistogram::Counts times = {};
  };
  RecentRequests(Nanoseconds window, std::vector<Nanoseconds> limits)
      : part_(window / static_cast<std::int64_t>(kParts)), limits_(std::move(limits)) {}

  /// Returns true if this is the first request in a new tenth of the window.
  bool add(Time now, Nanoseconds time, bool failed);
  Sums sums(Time now) const;
  void clear() { parts_ = {}; }

 private:
  static constexpr std::size_t kParts = 10;
  struct Part {
    std::int64_t number = -1;
    Sums sums;
  };
  std::int64_t number_at(Time now) const { return now.time_since_epoch() / part_; }

  Nanoseconds part_;
  std::vector<Nanoseconds> limits_;
  std::array<Part, kParts> parts_;
};

/// Watches an arm of a split and decides when to roll it back. It outlives the reload of its pipeline. Thread-safe.
class Rollback {
 public:
  using Time = RecentRequests::Time;
  enum class Side : std::uint8_t { arm, baseline };

  /// `notify` receives a warning when the arm is rolled back: `subject`, `what` and the reason.
  Rollback(const RollbackRules& rules, std::string subject, std::string what, NoticeSink notify);

  /// Counts a request that has ended. Do not call for an error of the client.
  void count(Side side, Time now, Nanoseconds time, bool failed);
  /// Returns true if the arm's requests go to the baseline. Fast.
  bool rolled_back() const { return rolled_back_.load(std::memory_order_relaxed); }
  /// Ends the rollback and clears the arm's statistics.
  void reset();
  /// Clears the baseline's statistics if its digest has changed.
  void set_baseline(const std::string& digest);

  struct Seen {
    RecentRequests::Sums arm, baseline;
    std::string reason;         ///< reason of the rollback; empty: not rolled back
    std::int64_t since_ms = 0;  ///< in milliseconds since 1970
    std::uint64_t rollbacks = 0;
  };
  Seen seen(Time now) const;
  /// Returns the number of rollbacks so far.
  std::uint64_t rollbacks() const { return rollbacks_; }

 private:
  void look_locked(Time now);
  std::optional<std::string> fault(const RecentRequests::Sums& arm, const RecentRequests::Sums& base) const;
  std::optional<std::string> fault_beside(const RecentRequests::Sums& arm, const RecentRequests::Sums& base) const;

  const RollbackRules rules_;
  const std::string subject_, what_;
  const NoticeSink notify_;
  std::atomic<bool> rolled_back_ = false;
  std::atomic<std::uint64_t> rollbacks_ = 0;
  mutable std::mutex mutex_;  // guards the members below
  RecentRequests arm_, baseline_;
  std::uint64_t counted_ = 0, next_look_;
  std::string baseline_digest_, reason_;
  std::int64_t since_ms_ = 0;
};

}  // namespace frazil::server
