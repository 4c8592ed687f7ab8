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

/// Measures the work that a table's constants stand for, on the calling thread with features(), and fits a table to it.
/// The fit minimises the sum of squared relative errors, with constants in kMinConstant..kMaxConstant. Takes about
/// two seconds. A constant without a measurement (`wake` on a machine of one core) keeps its reference value. Throws
/// std::bad_alloc.
MeasuredTuning measure_tuning();

}  // namespace frazil::kernel
