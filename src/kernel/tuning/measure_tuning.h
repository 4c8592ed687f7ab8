#pragma once

#include <string>
#include <vector>

#include "kernel/tuning/tuning.h"

namespace frazil::kernel {

/// One piece of work and its time in nanoseconds.
struct TuningCheck {
  std::string work;
  double measured = 0;
  double predicted = 0;  ///< by the fitted table
};

struct MeasuredTuning {
  Tuning tuning;
  std::vector<TuningCheck> checks;
};

/// Measures what the constants of a table are made from, on the calling thread with features(), and fits the table
/// to it: the sum of squared relative errors is least, with no constant below 0. Takes about two seconds. A constant
/// that no measurement tells (`wake` on a machine of one core) keeps its reference. Throws std::bad_alloc.
MeasuredTuning measure_tuning();

}  // namespace frazil::kernel
