#pragma once

#include <span>

#include "base/value/cpu_features.h"

namespace frazil::kernel {

/// The vector sets that this build contains, narrowest first.
std::span<const Isa> isas();

/// The widest vector set that this build contains and this machine supports, and the extensions of it that the machine
/// has.
const CpuFeatures& supported_features();

/// The features that kernels use: supported_features() unless forced. Thread-safe.
CpuFeatures features();

/// Changes features() to wanted.clamped_to(supported_features()) for later look-ups; functions already looked up stay
/// valid. Thread-safe.
void force_features(const CpuFeatures& wanted);

}  // namespace frazil::kernel
