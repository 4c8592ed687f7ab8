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
  /// What a branch with a cheaper one can cost beyond `cost_ns`, by its block; nullopt: no bound.
  std::map<const void*, std::optional<double>> extra_ns;
};

/// The measured costs of requests relative to their bounds. Thread-safe; a concurrent update may be lost.
class CostRatio {
 public:
  void add(double ratio) {
    constexpr double kDecay = 1.0 / 64, kPart = 1.0 / 16;
    const double peak = peak_.load(std::memory_order_relaxed), mean = mean_.load(std::memory_order_relaxed);
    peak_.store(std::max(ratio, peak - (peak - ratio) * kDecay), std::memory_order_relaxed);
    mean_.store(mean == 0 ? ratio : mean + (ratio - mean) * kPart, std::memory_order_relaxed);
  }
  /// Returns the largest recent ratio; 0 before the first.
  double peak() const { return peak_.load(std::memory_order_relaxed); }
  /// Returns the usual ratio; 0 before the first.
  double mean() const { return mean_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> peak_ = 0, mean_ = 0;
};

}  // namespace frazil::server
