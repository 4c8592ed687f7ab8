#pragma once

#include <cstdint>
#include <memory>

#include "bench/frazil_runner.h"

namespace bench {

/// Products of f32 with 4-bit weights in blocks of 32. The weights exceed the caches.
struct NBitsRow {
  const char* name;
  std::int64_t m, n, k;
  int weights = 16;  ///< number of weights that one run uses in turn

  /// Returns the bytes of quantised values and scales of a run.
  double bytes() const { return static_cast<double>(n * k / 2 + n * k / 32 * 4) * weights; }
};

struct NBitsRunners {
  std::unique_ptr<Runner> product, reader;  ///< reader: only reads the same bytes
};
/// Returns null runners if there is no kernel.
NBitsRunners nbits_runners(const NBitsRow& row);

}  // namespace bench
