#pragma once

#include <chrono>

namespace frazil::server {

/// The clock of deadlines and durations.
using Clock = std::chrono::steady_clock;

}  // namespace frazil::server
