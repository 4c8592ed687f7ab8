#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace frazil::server {

/// Limits for the cost of requests. A cost is busy time of workers times the price of the requested model. All are
/// optional; without any there is no budget.
struct BudgetConfig {
  std::optional<double> request_cost_ms;        ///< of one request
  std::optional<std::uint64_t> request_memory;  ///< bytes of values of one request
  std::optional<double> request_time_ms;        ///< from the arrival of a request; a deadline
  std::optional<double> day_cost_ms;            ///< of a day, from 00:00 UTC
  std::optional<double> second_cost_ms;         ///< of a second, on average
  std::optional<double> burst_ms;               ///< that may be saved up for a burst; nullopt: that of one second
  std::optional<std::uint64_t> memory;          ///< bytes of values of all running requests

  bool operator==(const BudgetConfig&) const = default;
};

/// The cost that is reserved when a request begins.
enum class Reserve : std::uint8_t {
  worst,     ///< the worst case over all paths; more if runs have taken longer
  forecast,  ///< the worst case scaled by what earlier requests took
};

struct CostConfig {
  Reserve reserve = Reserve::worst;
  std::map<std::string, double> prices;  ///< by requested model; 1 for others

  bool operator==(const CostConfig&) const = default;
};

}  // namespace frazil::server
