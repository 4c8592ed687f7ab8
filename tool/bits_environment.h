#pragma once

#include "server/replay/environment.h"

namespace frazil::tool {

/// Returns what decides the bits of results in this process: the build, the instruction set that kernels use, the table
/// of costs that chooses algorithms, and the environment variables that change how graphs run.
server::Environment bits_environment();

}  // namespace frazil::tool
