#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "govern/audit/log_reader.h"

namespace frazil::govern {

/// The account of a cost: tenant, model, version, account. Empty texts: none.
using CostKey = std::tuple<std::string, std::string, std::string, std::string>;

/// A sum of costs.
struct CostSum {
  std::uint64_t requests = 0, nanoseconds = 0;
  std::uint64_t charge = 0;  ///< nanoseconds times prices
};

/// Adds up the costs in the events `request` and `cost` of a log from `from` until before `to`, in milliseconds since
/// 1970. The costs of requests are of account "request". Throws as read_log().
std::map<CostKey, CostSum> read_costs(const std::string& folder, std::optional<std::int64_t> from,
                                      std::optional<std::int64_t> to);

}  // namespace frazil::govern
