#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "server/core/clock.h"
#include "server/core/cost_ledger.h"
#include "server/core/statistics.h"
#include "server/request/request.h"

namespace frazil::server {

/// The statistics of a model's requests: of all, and of each tenant's. Thread-safe.
class RequestCounts {
 public:
  Statistics& all() { return all_; }
  /// Returns the statistics of a tenant's requests. The reference stays valid. Precondition: the caller is a tenant.
  Statistics& of(const Tenants::Identity& tenant);
  /// Returns the statistics that a caller may see: its tenant's requests, or all requests for administrators.
  const Statistics& seen_by(const Tenants::Identity& identity) { return identity.is_admin() ? all_ : of(identity); }
  /// Calls `count` with the statistics of all requests, and with those of the caller's tenant.
  template <class F>
  void add(const Tenants::Identity& identity, F count) {
    count(all_);
    if (!identity.name().empty()) count(of(identity));
  }

  /// Returns what the requests have cost.
  const std::shared_ptr<CostLedger>& costs() const { return costs_; }

  /// Counts a request that begins, and one that ends `time` after its arrival.
  void begin(const Tenants::Identity& identity);
  void end(const Tenants::Identity& identity, Clock::duration time, const Outcome& outcome);
  /// Counts a request that could not be read.
  void add_unread(const Tenants::Identity& identity, Clock::time_point arrived, const Refusal& why);
  /// Counts a part of an answer, which is sent `time` after the arrival of the request.
  void add_part(const Tenants::Identity& identity, Clock::duration time, bool first);

 private:
  Statistics all_;
  const std::shared_ptr<CostLedger> costs_ = std::make_shared<CostLedger>();
  std::mutex mutex_;  // guards the member below
  std::map<std::string, Statistics> tenants_;
};

}  // namespace frazil::server
