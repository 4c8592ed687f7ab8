#pragma once

namespace frazil {

/// Returns the number of cores that this process may use at a time: those of its affinity mask, or the CPU time of its
/// control group (version 1 or 2), rounded up, if that is less. At least 1. Determined at the first call.
unsigned usable_cores();

}  // namespace frazil
