#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "server/core/statistics.h"

namespace frazil::server {

/// Upper bounds of what a request costs, for its own extents. A branch with a cheaper one counts as the cheaper one.
struct PathBounds {
  std::optional<double> cost_ns;              ///< busy time of workers; nullopt: no bound
  std::optional<std::uint64_t> memory_bytes;  ///< nullopt: no bound
  std::string why;                            ///< the part without a bound, and its reason
  double width = 1;                           ///< the most workers that the request occupies at a time
  /// The cost of a branch with a cheaper one beyond `cost_ns`, by its block; nullopt: no bound.
  std::map<const void*, std::optional<double>> extra_ns;
};

/// The measured costs of requests relative to their bounds. A single outlier has little effect. Thread-safe; a
/// concurrent update may be lost.
class CostRatio {
 public:
  void add(double ratio) {
    constexpr double kRise = 0.1, kQuantile = 0.95, kPart = 1.0 / 16, kMostGrowth = 2;
    const double high = high_.load(std::memory_order_relaxed), usual = usual_.load(std::memory_order_relaxed);
    high_.store(high * (1 + kRise * (ratio > high ? kQuantile : kQuantile - 1)), std::memory_order_relaxed);
    const double seen = usual == 0 ? ratio : std::min(ratio, usual * kMostGrowth);
    usual_.store(usual == 0 ? seen : usual + (seen - usual) * kPart, std::memory_order_relaxed);
  }
  /// Returns about the ratio that 95 % of the requests do not exceed; 1 before the first.
  double high() const { return high_.load(std::memory_order_relaxed); }
  /// Returns the mean ratio; 0 before the first.
  double usual() const { return usual_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> high_ = 1, usual_ = 0;
};

}  // namespace frazil::server
