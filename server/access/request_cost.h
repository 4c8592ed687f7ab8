#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "server/access/budget.h"
#include "server/access/path_bounds.h"
#include "server/core/busy.h"
#include "server/core/clock.h"
#include "server/core/cost_ledger.h"

namespace frazil::server {

/// The cost of a request: the busy time that is spent on it, and its reservation. Parts of the request hold it as long
/// as they may work. Thread-safe.
class RequestCost final : public BusySink {
 public:
  struct Payer {
    std::shared_ptr<CostLedger> ledger;          ///< of the requested version
    std::shared_ptr<Budget> budget = {};         ///< null: none
    std::string tenant = {};                     ///< empty: none
    CostAccount account = CostAccount::request;  ///< other accounts have neither budget nor tenant
    double price = 1;
  };
  explicit RequestCost(Payer payer) : payer_(std::move(payer)) {}
  /// Settles, and charges what was done after that.
  ~RequestCost() override;

  /// Reserves a cost in nanoseconds and memory before the request runs. `bounds` (may be null) and `deadline` apply to
  /// its branches. Called at most once. Refuses as Budget::reserve().
  std::expected<void, OverBudget> reserve(double cost_ns, std::uint64_t memory,
                                          std::shared_ptr<const PathBounds> bounds,
                                          std::optional<Clock::time_point> deadline);
  /// Adds what a branch may cost more than its cheaper one to the reservation, by its block. Returns false if the
  /// budget cannot pay that, or if it has no bound and the request no deadline. True without a budget.
  bool enter_branch(const void* block);
  /// Compares the measured cost with the bound when the request is settled.
  void set_ratio(std::shared_ptr<CostRatio> ratio) { ratio_ = std::move(ratio); }

  /// Ends the request: returns the reservation, and charges the time so far. Returns the nanoseconds that the tenant
  /// pays. Later calls have no effect and return the same.
  Nanoseconds settle();
  void add_busy(Nanoseconds time) override { busy_.fetch_add(time.count(), std::memory_order_relaxed); }
  /// Returns a cost of the same version for another account.
  std::shared_ptr<RequestCost> beside(CostAccount account) const {
    return std::make_shared<RequestCost>(Payer{.ledger = payer_.ledger, .account = account});
  }
  double price() const { return payer_.price; }

 private:
  Nanoseconds charge(const Amount& reserved, Nanoseconds time, CostAccount account);
  std::int64_t priced(double nanoseconds) const;

  const Payer payer_;
  std::atomic<std::int64_t> busy_ = 0;  ///< not charged yet
  std::mutex mutex_;                    // guards the members below
  Amount reserved_;
  std::shared_ptr<const PathBounds> bounds_;
  std::optional<Clock::time_point> deadline_;
  std::shared_ptr<CostRatio> ratio_;
  std::optional<Nanoseconds> settled_;
};

}  // namespace frazil::server
