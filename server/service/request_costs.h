#pragma once

#include <memory>
#include <optional>

#include "govern/audit/audit_log.h"
#include "server/access/budget.h"
#include "server/core/workers.h"
#include "server/model/served.h"
#include "server/request/request.h"
#include "server/service/cost_events.h"
#include "server/service/request_bounds.h"

namespace frazil::server {

/// Gives requests their costs: reserves the worst case at the beginning and settles the measured one at the end.
/// Thread-safe.
class RequestCosts {
 public:
  /// `audit`: receives refusals; may be null. `workers`: receive the time after a request. Both outlive this object.
  RequestCosts(const ServerConfig& config, std::shared_ptr<govern::AuditLog> audit, const Workers& workers)
      : budgets_(config), events_(audit), audit_(std::move(audit)), workers_(workers) {}

  Budgets& budgets() { return budgets_; }
  const Budgets& budgets() const { return budgets_; }
  /// Events for the audit log about costs that no request has.
  CostEvents& events() { return events_; }

  /// Sets `call.cost`. A replay costs the model.
  void open(Call& call, const Served& target, bool replay);
  /// Has the cost settled when the call ends, however that is: before `call.done` as it is now.
  void settle_at_end(Call& call) const;
  /// Reserves what the request may cost. Returns the refusal (too_many) if a budget cannot pay that, or (bad_request)
  /// if there is no bound.
  std::optional<Refusal> reserve(Call& call, const Served& target);

  /// Returns the nanoseconds that a caller's budget leaves today; nullopt: there is no limit.
  std::optional<std::int64_t> budget_left(const Call& call) { return budgets_.of(call.identity.name())->state().left; }

  /// The expected cost of a request.
  struct Expected {
    std::optional<double> cost_ns;              ///< nullopt: not known
    std::optional<std::uint64_t> memory_bytes;  ///< nullopt: no bound
  };
  /// Returns the forecast for a request. Of a model: the bound for its extents, scaled by what earlier requests took;
  /// only requests under a budget are compared with bounds. Of a pipeline: the usual costs of its models, by the shares
  /// of its branches.
  Expected forecast(const Served& target, const std::vector<NamedArray>& inputs);

 private:
  Refusal refused(const OverBudget& why, const Call& call, const Served& target) const;

  Budgets budgets_;
  RequestBounds bounds_;
  CostEvents events_;
  std::shared_ptr<govern::AuditLog> audit_;
  const Workers& workers_;
};

}  // namespace frazil::server
