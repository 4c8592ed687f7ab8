#pragma once

#include <chrono>

namespace frazil::server {

/// The clock for deadlines and durations.
using Clock = std::chrono::steady_clock;

}  // namespace frazil::server
