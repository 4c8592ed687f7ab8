#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/statistics.h"
#include "server/tell.h"

// What takes an arm of a split out of the traffic when it does worse than it may.
namespace frazil::server {

/// Whether so many of n are too many to be chance where each has the probability p: an exact binomial test with a
/// doubt of 1e-5, as it is asked again and again.
bool is_beyond_chance(std::uint64_t events, std::uint64_t n, double p);

/// What an arm has to keep to. Plain data.
struct GuardRules {
  struct Limit {
    std::string quantile;  ///< "p99"
    double share;          ///< 0.99
    Nanoseconds most;
  };
  std::optional<double> errors;  ///< share of the requests that may fail
  std::vector<Limit> limits;     ///< of the time that requests take
  std::optional<double> worse;   ///< how many times the baseline's share of failures and p99 the arm's may be
  std::uint64_t least = 200;     ///< requests before anything is decided
  Nanoseconds window = std::chrono::seconds(60);

  std::string text() const;  ///< of equal rules equal
};

/// Requests of the last while. Not thread-safe.
class RecentRequests {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Sums {
    std::uint64_t requests = 0, failed = 0;
    std::vector<std::uint64_t> over;  ///< by limit: requests that took longer
    FineHistogram::Counts times = {};
  };
  RecentRequests(Nanoseconds window, std::vector<Nanoseconds> limits)
      : part_(window / static_cast<std::int64_t>(kParts)), limits_(std::move(limits)) {}

  /// Whether it is the first one of another tenth of the window.
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

/// Watches an arm of a split and says when it is to get no more requests. It lives on when its pipeline is made anew.
/// Thread-safe.
class Guard {
 public:
  using Time = RecentRequests::Time;
  enum class Side : std::uint8_t { arm, baseline };

  /// Warns when the arm is rolled back: of `subject`, `what` and why.
  Guard(const GuardRules& rules, std::string subject, std::string what, Tell tell);

  /// A request has ended. That it failed because its caller left is not to be told.
  void count(Side side, Time now, Nanoseconds time, bool failed);
  /// Whether the arm's requests go to the baseline. Quick.
  bool rolled_back() const { return rolled_back_.load(std::memory_order_relaxed); }
  /// The arm gets its share again, and nothing is known of it.
  void reset();
  /// Forgets what is known of the baseline when that is another one than it was.
  void set_baseline(const std::string& digest);

  struct Seen {
    RecentRequests::Sums arm, baseline;
    std::string reason;         ///< why it is rolled back; empty: it is not
    std::int64_t since_ms = 0;  ///< since 1970
    std::uint64_t rollbacks = 0;
  };
  Seen seen(Time now) const;
  /// How often the arm was rolled back so far.
  std::uint64_t rollbacks() const { return rollbacks_; }

 private:
  void look_locked(Time now);
  std::optional<std::string> fault(const RecentRequests::Sums& arm, const RecentRequests::Sums& base) const;
  std::optional<std::string> fault_beside(const RecentRequests::Sums& arm, const RecentRequests::Sums& base) const;

  const GuardRules rules_;
  const std::string subject_, what_;
  const Tell tell_;
  std::atomic<bool> rolled_back_ = false;
  std::atomic<std::uint64_t> rollbacks_ = 0;
  mutable std::mutex mutex_;  // of what follows
  RecentRequests arm_, baseline_;
  std::uint64_t counted_ = 0, next_look_;
  std::string baseline_digest_, reason_;
  std::int64_t since_ms_ = 0;
};

}  // namespace frazil::server
