#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "server/core/statistics.h"

namespace frazil::server {

/// The accounts to which busy time of workers is charged.
enum class CostAccount : std::uint8_t {
  request,  ///< a request's own work, also of branches that failed; of its tenant
  late,     ///< a request's work that ended after its answer, such as that of a lost race; of its tenant
  excess,   ///< a request's work beyond what its budget could pay; of the model, as are all below
  padding,  ///< padding of batches
  warm_up,  ///< warm-up runs, canaries and tests of batching
  shadow,   ///< shadows
  guard,    ///< runs of a baseline that decide whether an arm or a request is at fault
  replay,   ///< replays
  check,    ///< comparisons with the reference executor
};

inline constexpr std::array<std::string_view, 9> kCostAccountNames{"request", "late",  "excess", "padding", "warm_up",
                                                                   "shadow",  "guard", "replay", "check"};
inline std::string_view name_of(CostAccount account) { return kCostAccountNames[static_cast<std::size_t>(account)]; }

/// The costs of one version of a model by tenant and account. Thread-safe.
class CostLedger {
 public:
  using Key = std::pair<std::string, CostAccount>;  ///< the tenant is empty for accounts of the model
  void add(const std::string& tenant, CostAccount account, Nanoseconds time) {
    if (time.count() <= 0) return;
    const std::scoped_lock lock(mutex_);
    rows_[Key(tenant, account)] += time;
  }
  /// Adds the costs of a version that this one continues.
  void add(const CostLedger& other) {
    for (const auto& [key, time] : other.rows()) add(key.first, key.second, time);
  }
  std::map<Key, Nanoseconds> rows() const {
    const std::scoped_lock lock(mutex_);
    return rows_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<Key, Nanoseconds> rows_;
};

}  // namespace frazil::server
