#include "server/access/budget.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "server/core/json_text.h"

namespace frazil::server {
namespace {

constexpr double kNanosecondsInMs = 1e6;
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

std::int64_t cost_of(double ms) {
  return static_cast<std::int64_t>(std::min(ms * kNanosecondsInMs, static_cast<double>(kNoLimit / 4)));
}

std::string ms_text(std::int64_t cost) {
  constexpr double kMicroseconds = 1000;
  const double ms = static_cast<double>(cost) / kNanosecondsInMs;
  return number_text(std::round(ms * kMicroseconds) / kMicroseconds) + " ms";
}

std::int64_t day_of(Budget::Time now) { return std::chrono::floor<std::chrono::days>(now).time_since_epoch().count(); }

unsigned seconds_to_midnight(Budget::Time now) {
  const auto left = std::chrono::floor<std::chrono::days>(now) + std::chrono::days(1) - now;
  return static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(left).count());
}

unsigned whole_seconds(double seconds) {
  constexpr double kMost = 86'400;
  return static_cast<unsigned>(std::ceil(std::clamp(seconds, 1.0, kMost)));
}

std::string memory_why(std::uint64_t needs, std::uint64_t most) {
  return "may need " + std::to_string(needs) + " bytes of memory, " + std::to_string(most) + " are allowed";
}

}  // namespace

void Budget::set(const std::optional<BudgetConfig>& limits) {
  const std::scoped_lock lock(mutex_);
  const BudgetConfig next = limits.value_or(BudgetConfig());
  const bool other_rate = next.second_cost_ms != limits_.second_cost_ms || next.burst_ms != limits_.burst_ms;
  limits_ = next;
  if (other_rate) filled_ = {};  // the next request finds a full bucket
  limited_ = limits.has_value();
}

bool Budget::limits_memory() const {
  const std::scoped_lock lock(mutex_);
  return limits_.request_memory || limits_.memory;
}

std::optional<std::chrono::nanoseconds> Budget::time_limit() const {
  const std::scoped_lock lock(mutex_);
  if (!limits_.request_time_ms) return std::nullopt;
  return std::chrono::nanoseconds(cost_of(*limits_.request_time_ms));
}

/// Begins a new day, and fills the tokens.
void Budget::advance(Time now) const {
  if (const std::int64_t day = day_of(now); day > day_) {
    day_ = day;
    spent_ = 0;
  }
  if (!limits_.second_cost_ms) return;
  const double rate = *limits_.second_cost_ms * kNanosecondsInMs;
  const double burst = limits_.burst_ms.value_or(*limits_.second_cost_ms) * kNanosecondsInMs;
  const double seconds = std::max(std::chrono::duration<double>(now - filled_).count(), 0.0);
  tokens_ = filled_ == Time() ? burst : std::min(burst, tokens_ + rate * seconds);
  filled_ = std::max(filled_, now);
}

/// Returns what the limits of a day and a second leave.
std::int64_t Budget::room() const {
  std::int64_t room = kNoLimit;
  if (limits_.day_cost_ms) room = cost_of(*limits_.day_cost_ms) - spent_ - reserved_;
  if (limits_.second_cost_ms) room = std::min(room, static_cast<std::int64_t>(tokens_));
  return std::max<std::int64_t>(room, 0);
}

std::optional<Budget::Exceeded> Budget::exceeded_by_cost(std::int64_t more, std::int64_t held, Time now) const {
  const auto cost = [&] { return "may cost " + ms_text(more); };  // a text only for refusals
  if (limits_.request_cost_ms && more > cost_of(*limits_.request_cost_ms) - held) {
    return Exceeded{"per_request.cost_ms", cost() + ", its budget is " + ms_text(cost_of(*limits_.request_cost_ms)), 0};
  }
  if (limits_.day_cost_ms) {
    const std::int64_t limit = cost_of(*limits_.day_cost_ms);
    const std::int64_t left = std::max<std::int64_t>(limit - spent_ - reserved_, 0);
    const bool others_hold_it = more <= limit - spent_;
    const unsigned retry = more > limit ? 0 : others_hold_it ? 1 : seconds_to_midnight(now);
    if (more > left) {
      return Exceeded{"per_day.cost_ms", cost() + ", " + ms_text(left) + " of " + ms_text(limit) + " are left today",
                      retry};
    }
  }
  if (limits_.second_cost_ms && static_cast<double>(more) > tokens_) {
    const double rate = *limits_.second_cost_ms * kNanosecondsInMs;
    const bool never =
        static_cast<double>(more) > limits_.burst_ms.value_or(*limits_.second_cost_ms) * kNanosecondsInMs;
    return Exceeded{"per_second.cost_ms",
                    cost() + ", " + ms_text(static_cast<std::int64_t>(tokens_)) + " are available now",
                    never ? 0 : whole_seconds((static_cast<double>(more) - tokens_) / rate)};
  }
  return std::nullopt;
}

std::optional<Budget::Exceeded> Budget::exceeded(const Amount& more, const Amount& held, Time now) const {
  if (auto cost = exceeded_by_cost(more.cost, held.cost, now)) return cost;
  const std::uint64_t memory = more.memory + held.memory;
  if (limits_.request_memory && memory > *limits_.request_memory) {
    return Exceeded{"per_request.memory", memory_why(memory, *limits_.request_memory), 0};
  }
  if (limits_.memory && more.memory > *limits_.memory - std::min(memory_, *limits_.memory)) {
    return Exceeded{
        "memory",
        memory_why(more.memory, *limits_.memory) + " to all requests, " + std::to_string(memory_) + " are in use",
        more.memory > *limits_.memory ? 0U : 1U};
  }
  return std::nullopt;
}

/// Reserves an amount unless it exceeds a limit.
std::optional<Budget::Exceeded> Budget::take(const Amount& more, const Amount& held, Time now) {
  const std::scoped_lock lock(mutex_);
  advance(now);
  if (auto limit = exceeded(more, held, now)) return limit;
  reserved_ += more.cost;
  memory_ += more.memory;
  tokens_ -= static_cast<double>(more.cost);
  return std::nullopt;
}

std::expected<void, OverBudget> Budget::reserve(const Amount& more, const Amount& held, Time now) {
  const auto limit = take(more, held, now);
  if (!limit) return {};
  return std::unexpected(
      refuse(limit->rule, "budget " + std::string(limit->rule) + ": the request " + limit->why, limit->retry_s));
}

bool Budget::try_reserve(const Amount& more, const Amount& held, Time now) { return !take(more, held, now); }

OverBudget Budget::refuse(const std::string& rule, const std::string& why, unsigned retry_s, Http status) {
  {
    const std::scoped_lock lock(mutex_);
    ++refused_[rule];
  }
  const std::string whose = tenant_.empty() ? "" : "tenant '" + tenant_ + "': ";
  return {rule, Refusal::plain(status, whose + why, retry_s)};
}

std::int64_t Budget::settle(const Amount& reserved, std::int64_t cost, Time now) {
  const std::scoped_lock lock(mutex_);
  advance(now);
  reserved_ -= reserved.cost;
  memory_ -= reserved.memory;
  tokens_ += static_cast<double>(reserved.cost);
  const std::int64_t spent = std::min(cost, std::max(reserved.cost, room()));
  spent_ += spent;
  tokens_ -= static_cast<double>(spent);
  return spent;
}

void Budget::restore(std::int64_t cost, Time when, Time now) {
  const std::scoped_lock lock(mutex_);
  advance(now);
  if (day_of(when) == day_) spent_ += cost;
}

Budget::State Budget::state(Time now) const {
  const std::scoped_lock lock(mutex_);
  advance(now);
  State state{.spent = spent_, .reserved = reserved_, .left = {}, .memory = memory_};
  if (limits_.day_cost_ms) {
    state.left = std::max<std::int64_t>(cost_of(*limits_.day_cost_ms) - spent_ - reserved_, 0);
  }
  return state;
}

std::map<std::string, std::uint64_t> Budget::refused() const {
  const std::scoped_lock lock(mutex_);
  return refused_;
}

// ---- Budgets ----

void Budgets::replace(const ServerConfig& config) {
  std::map<std::string, std::optional<BudgetConfig>> limits{{"", config.governance.budget}};
  for (const Tenant& tenant : config.tenants) limits[tenant.name] = tenant.budget;
  for (const auto& budget : all()) limits.try_emplace(budget->tenant());
  for (const auto& [tenant, limit] : limits) of(tenant)->set(limit);
  const std::scoped_lock lock(mutex_);
  cost_ = config.governance.cost;
}

std::shared_ptr<Budget> Budgets::of(const std::string& tenant) {
  const std::scoped_lock lock(mutex_);
  auto& budget = budgets_[tenant];
  if (budget == nullptr) budget = std::make_shared<Budget>(tenant);
  return budget;
}

std::vector<std::shared_ptr<const Budget>> Budgets::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<const Budget>> all;
  for (const auto& [tenant, budget] : budgets_) all.push_back(budget);
  return all;
}

double Budgets::price(const std::string& model) const {
  const std::scoped_lock lock(mutex_);
  const auto price = cost_.prices.find(model);
  return price == cost_.prices.end() ? 1 : price->second;
}

Reserve Budgets::reserve() const {
  const std::scoped_lock lock(mutex_);
  return cost_.reserve;
}

}  // namespace frazil::server
