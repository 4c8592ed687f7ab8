#pragma once

#include "server/replay/replay.h"

namespace frazil::server {

/// Compares an outcome with the recorded one, and writes the result and the first difference to the report. `loose`:
/// why equal bits cannot be expected; empty: they are.
void compare_outcome(const Payload& recorded, const Outcome& now, const std::string& loose, ReplayReport& report);

}  // namespace frazil::server
