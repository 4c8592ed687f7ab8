#pragma once

#include <cstdint>
#include <memory>

#include "bench/frazil_runner.h"

namespace bench {

/// Products of f32 with a weight of 4 bits in blocks of 32, whose weights do not stay in a cache.
struct NBitsRow {
  const char* name;
  std::int64_t m, n, k;
  int weights = 16;  ///< that one run meets, one after the other

  /// Numbers and scales of a run.
  double bytes() const { return static_cast<double>(n * k / 2 + n * k / 32 * 4) * weights; }
};

struct NBitsRunners {
  std::unique_ptr<Runner> product, reader;  ///< reader: reads what the product reads, and no more
};
/// Null runners where there is no kernel for it.
NBitsRunners nbits_runners(const NBitsRow& row);

}  // namespace bench
