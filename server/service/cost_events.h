#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "govern/audit/audit_log.h"
#include "server/access/request_cost.h"
#include "server/core/clock.h"
#include "server/model/served.h"

namespace frazil::server {

/// The cost of a settled request.
struct CostFacts {
  std::optional<Nanoseconds> paid = {};  ///< nullopt: the request has no cost
  double price = 1;
};
/// Settles a request. `cost` may be null.
CostFacts cost_facts(RequestCost* cost);
/// Adds the cost to the event of a request: `cost` in nanoseconds, and `charge`, the same times the price, if there is
/// a price.
void add_cost(govern::Json& event, const CostFacts& facts);

/// Appends events `cost` to the audit log: the costs that are in no event of a request, as differences. Thread-safe.
class CostEvents {
 public:
  /// `audit`: null for none.
  explicit CostEvents(std::shared_ptr<govern::AuditLog> audit) : audit_(std::move(audit)) {}

  /// Returns true once a minute: write() is then to be called.
  bool is_due();
  /// `server`: busy time that no account of a model has. Throws api::Error if the log cannot be written; the costs are
  /// then in later events.
  void write(const std::vector<std::shared_ptr<const Served>>& models, Nanoseconds server);

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string>;  ///< model, version, tenant, account
  void write(const Key& key, Nanoseconds all);

  const std::shared_ptr<govern::AuditLog> audit_;
  std::atomic<std::int64_t> last_ns_ = Clock::now().time_since_epoch().count();
  std::mutex mutex_;  // guards the member below
  std::map<Key, Nanoseconds> written_;
};

}  // namespace frazil::server
