#include "server/pipeline/rollback.h"

#include <algorithm>
#include <cmath>

#include <boost/math/special_functions/beta.hpp>

#include "server/core/json_text.h"

namespace frazil::server {
namespace {

using Sums = RecentRequests::Sums;

constexpr double kDoubt = 1e-5;  // docs/decisions/0115 discusses the consequences
constexpr double kRelativeShare = 0.99;

std::string text_of_number(double number) {
  std::string text;
  append_number(text, number);
  return text;
}

std::string text_of_time(Nanoseconds time) {
  return text_of_number(std::chrono::duration<double, std::milli>(time).count()) + " ms";
}

std::string of_requests(std::uint64_t count, const Sums& sums) {
  return std::to_string(count) + " of " + std::to_string(sums.requests) + " requests";
}

std::vector<Nanoseconds> times_of(const std::vector<RollbackRules::Limit>& limits) {
  std::vector<Nanoseconds> times;
  for (const RollbackRules::Limit& limit : limits) times.push_back(limit.most);
  return times;
}

std::uint64_t count_from(const FineHistogram::Counts& times, Nanoseconds least) {
  std::uint64_t count = 0;
  for (std::size_t i = times.size(); i-- > 0 && FineHistogram::least(i) >= least;) count += times[i];
  return count;
}

}  // namespace

/// P(X >= events) of the binomial distribution is the regularised incomplete beta function.
bool is_beyond_chance(std::uint64_t events, std::uint64_t n, double p) {
  if (events == 0 || p >= 1) return false;
  if (p <= 0) return true;
  const auto k = static_cast<double>(events);
  return boost::math::ibeta(k, static_cast<double>(n) - k + 1, p) < kDoubt;
}

std::string RollbackRules::text() const {
  std::string text = errors ? text_of_number(*errors) : "";
  for (const Limit& limit : limits) text += ' ' + limit.quantile + ' ' + text_of_time(limit.most);
  text += " / " + (worse ? text_of_number(*worse) : "");
  return text + ' ' + std::to_string(least) + ' ' + text_of_time(window);
}

// ---- RecentRequests ----

bool RecentRequests::add(Time now, Nanoseconds time, bool failed) {
  const std::int64_t number = number_at(now);
  Part& part = parts_[static_cast<std::size_t>(number) % kParts];
  const bool fresh = part.number != number;
  if (fresh) part = {.number = number, .sums = {.over = std::vector<std::uint64_t>(limits_.size())}};
  ++part.sums.requests;
  if (failed) ++part.sums.failed;
  for (std::size_t i = 0; i < limits_.size(); ++i) part.sums.over[i] += time > limits_[i] ? 1 : 0;
  ++part.sums.times[FineHistogram::bucket_of(time)];
  return fresh;
}

RecentRequests::Sums RecentRequests::sums(Time now) const {
  Sums all{.over = std::vector<std::uint64_t>(limits_.size())};
  const std::int64_t first = number_at(now) - static_cast<std::int64_t>(kParts) + 1;
  for (const Part& part : parts_) {
    if (part.number < first) continue;
    all.requests += part.sums.requests;
    all.failed += part.sums.failed;
    for (std::size_t i = 0; i < all.over.size(); ++i) all.over[i] += part.sums.over[i];
    for (std::size_t i = 0; i < all.times.size(); ++i) all.times[i] += part.sums.times[i];
  }
  return all;
}

// ---- Rollback ----

Rollback::Rollback(const RollbackRules& rules, std::string subject, std::string what, NoticeSink notify)
    : rules_(rules),
      subject_(std::move(subject)),
      what_(std::move(what)),
      notify_(std::move(notify)),
      arm_(rules.window, times_of(rules.limits)),
      baseline_(rules.window, {}),
      next_look_(rules.least) {}

/// Checks the rules at the beginning of each tenth of the window, and additionally whenever the number of requests has
/// doubled.
void Rollback::count(Side side, Time now, Nanoseconds time, bool failed) {
  std::string told;
  {
    const std::scoped_lock lock(mutex_);
    if (side == Side::baseline) return void(baseline_.add(now, time, failed));
    if (rolled_back()) return;
    const bool fresh = arm_.add(now, time, failed);
    if (++counted_ != next_look_ && !fresh) return;
    if (counted_ >= next_look_) next_look_ = 2 * counted_;
    look_locked(now);
    if (rolled_back()) told = what_ + reason_;
  }
  if (!told.empty()) warn(notify_, subject_, std::move(told));
}

void Rollback::look_locked(Time now) {
  const Sums arm = arm_.sums(now);
  if (arm.requests < rules_.least) return;
  auto why = fault(arm, baseline_.sums(now));
  if (!why) return;
  reason_ = std::move(*why);
  since_ms_ = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
                  .count();
  ++rollbacks_;
  rolled_back_ = true;
}

std::optional<std::string> Rollback::fault(const Sums& arm, const Sums& base) const {
  if (rules_.errors && is_beyond_chance(arm.failed, arm.requests, *rules_.errors)) {
    return of_requests(arm.failed, arm) + " failed, a share of " + text_of_number(*rules_.errors) + " may";
  }
  for (std::size_t i = 0; i < rules_.limits.size(); ++i) {
    const RollbackRules::Limit& limit = rules_.limits[i];
    if (!is_beyond_chance(arm.over[i], arm.requests, 1 - limit.share)) continue;
    return of_requests(arm.over[i], arm) + " took longer than " + text_of_time(limit.most) + ", the limit of " +
           limit.quantile;
  }
  return rules_.worse && base.requests >= rules_.least ? fault_beside(arm, base) : std::nullopt;
}

/// Compares two Poisson rates: given the total number of events, the arm's number is binomial with its share of the
/// requests. For times, an event is a request slower than the baseline's quantile. The quantile's own bucket is
/// excluded.
std::optional<std::string> Rollback::fault_beside(const Sums& arm, const Sums& base) const {
  const double worse = *rules_.worse;
  const auto n = static_cast<double>(arm.requests), m = static_cast<double>(base.requests);
  if (is_beyond_chance(arm.failed, arm.failed + base.failed, worse * n / (worse * n + m))) {
    return of_requests(arm.failed, arm) + " failed, of the baseline's " + of_requests(base.failed, base) +
           ": more than " + text_of_number(worse) + " times as often";
  }
  const auto bucket = FineHistogram::bucket_at(base.times, kRelativeShare);
  if (!bucket || *bucket + 1 == FineHistogram::kBuckets) return std::nullopt;
  const Nanoseconds quantile = FineHistogram::least(*bucket + 1);
  const Nanoseconds limit(static_cast<std::int64_t>(worse * static_cast<double>(quantile.count())));
  const std::uint64_t over = count_from(arm.times, limit);
  const auto usual = static_cast<std::uint64_t>(std::ceil((1 - kRelativeShare) * m));
  if (!is_beyond_chance(over, over + usual, n / (n + m))) return std::nullopt;
  return of_requests(over, arm) + " took longer than " + text_of_time(limit) + ", " + text_of_number(worse) +
         " times the baseline's p99";
}

void Rollback::reset() {
  const std::scoped_lock lock(mutex_);
  arm_.clear();
  counted_ = 0;
  next_look_ = rules_.least;
  reason_.clear();
  rolled_back_ = false;
}

void Rollback::set_baseline(const std::string& digest) {
  const std::scoped_lock lock(mutex_);
  if (baseline_digest_ == digest) return;
  baseline_digest_ = digest;
  baseline_.clear();
}

Rollback::Seen Rollback::seen(Time now) const {
  const std::scoped_lock lock(mutex_);
  return {.arm = arm_.sums(now),
          .baseline = baseline_.sums(now),
          .reason = reason_,
          .since_ms = rolled_back() ? since_ms_ : 0,
          .rollbacks = rollbacks_};
}

}  // namespace frazil::server
