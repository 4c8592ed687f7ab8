#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/config/server_config.h"
#include "server/core/message.h"

namespace frazil::server {

/// A cost in nanoseconds of busy time times a price, and bytes of memory.
struct Amount {
  std::int64_t cost = 0;
  std::uint64_t memory = 0;
};

/// The refusal of a request by a budget.
struct OverBudget {
  std::string rule;  ///< "per_day.cost_ms"
  Refusal refusal;
};

/// The budget of a tenant: what it has spent today, and what its running requests have reserved. At no time is more
/// spent and reserved than a limit that was in force when it was reserved. Thread-safe; each call takes a short lock.
class Budget {
 public:
  using Time = std::chrono::system_clock::time_point;

  /// `tenant`: empty for callers without a tenant.
  explicit Budget(std::string tenant) : tenant_(std::move(tenant)) {}

  void set(const std::optional<BudgetConfig>& limits);
  /// Returns true if there are limits.
  bool is_limited() const { return limited_.load(std::memory_order_relaxed); }
  /// Returns true if the memory of requests is limited.
  bool limits_memory() const;
  /// Returns the limit of a request's time.
  std::optional<std::chrono::nanoseconds> time_limit() const;

  /// Reserves an amount for a request that has reserved `held` already. Refuses (too_many) what exceeds a limit.
  std::expected<void, OverBudget> reserve(const Amount& more, const Amount& held = {},
                                          Time now = std::chrono::system_clock::now());
  /// As reserve(), but returns false instead of counting a refusal.
  bool try_reserve(const Amount& more, const Amount& held, Time now = std::chrono::system_clock::now());
  /// Returns a reservation and spends `cost`, or what the limits leave of it beyond the reservation. Returns what was
  /// spent.
  std::int64_t settle(const Amount& reserved, std::int64_t cost, Time now = std::chrono::system_clock::now());
  /// Adds what was spent before the program started, if `when` is today.
  void restore(std::int64_t cost, Time when, Time now = std::chrono::system_clock::now());

  struct State {
    std::int64_t spent = 0, reserved = 0;  ///< today
    std::optional<std::int64_t> left;      ///< for further reservations today; nullopt: no limit
    std::uint64_t memory = 0;              ///< reserved
  };
  State state(Time now = std::chrono::system_clock::now()) const;
  /// Returns the number of refused requests by rule.
  std::map<std::string, std::uint64_t> refused() const;
  const std::string& tenant() const { return tenant_; }
  /// Counts a refusal and returns it, with the tenant's name before `why`. `retry_s`: seconds until it may succeed; 0:
  /// never.
  OverBudget refuse(const std::string& rule, const std::string& why, unsigned retry_s, Http status = Http::too_many);

 private:
  /// A limit that a reservation exceeds.
  struct Exceeded {
    const char* rule;
    std::string why;
    unsigned retry_s;
  };
  void advance(Time now) const;
  std::optional<Exceeded> take(const Amount& more, const Amount& held, Time now);
  std::optional<Exceeded> exceeded(const Amount& more, const Amount& held, Time now) const;
  std::optional<Exceeded> exceeded_by_cost(std::int64_t more, std::int64_t held, Time now) const;
  std::int64_t room() const;

  const std::string tenant_;
  std::atomic<bool> limited_ = false;
  mutable std::mutex mutex_;  // guards the members below
  BudgetConfig limits_;
  mutable std::int64_t day_ = 0, spent_ = 0;
  std::int64_t reserved_ = 0;
  std::uint64_t memory_ = 0;
  mutable double tokens_ = 0;  // cost that per_second leaves now, in nanoseconds
  mutable Time filled_ = {};
  std::map<std::string, std::uint64_t> refused_;
};

/// The budgets of all tenants. Budgets persist across reloads of the configuration. Thread-safe.
class Budgets {
 public:
  explicit Budgets(const ServerConfig& config) { replace(config); }

  /// Applies another configuration.
  void replace(const ServerConfig& config);
  /// Returns the budget of a tenant; the empty name is that of callers without one.
  std::shared_ptr<Budget> of(const std::string& tenant);
  std::vector<std::shared_ptr<const Budget>> all() const;
  /// Returns the price of a nanosecond of a request for a model.
  double price(const std::string& model) const;
  Reserve reserve() const;

 private:
  mutable std::mutex mutex_;  // guards the members below
  std::map<std::string, std::shared_ptr<Budget>, std::less<>> budgets_;
  CostConfig cost_;
};

}  // namespace frazil::server
