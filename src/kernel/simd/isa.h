#pragma once

#include <span>

#include "base/value/cpu_features.h"

namespace frazil::kernel {

/// Returns the vector sets that this build contains, narrowest first.
std::span<const Isa> isas();

/// Returns the widest vector set of this build that the machine supports, and those of its extensions that the machine
/// has.
const CpuFeatures& supported_features();

/// Returns the features that kernels use: supported_features() unless forced. Thread-safe.
CpuFeatures features();

/// Sets features() to wanted.clamped_to(supported_features()) for later look-ups. Functions already looked up stay
/// valid. Thread-safe.
void force_features(const CpuFeatures& wanted);

}  // namespace frazil::kernel
