#pragma once

namespace frazil {

/// Cores that this process may use at one time: those of its affinity mask, or as many as its control group (version 1
/// or 2) gives it time for, rounded up, where that is less; at least 1. As they are at the first call.
unsigned usable_cores();

}  // namespace frazil
