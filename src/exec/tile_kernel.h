#pragma once

#include "exec/kernel_code.h"

namespace frazil {

/// Kernel::tile: runs a scalar tape over an output of any shape and strides.
extern const KernelCode kTileCode;

}  // namespace frazil
