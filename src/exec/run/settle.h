#pragma once

#include <functional>

#include "base/value/error.h"

namespace frazil::exec {

/// Calls `run` until the code has been made that pays for what it runs: before a measurement. Returns the first error
/// of `run`.
Status settle(const std::function<Status()>& run);

}  // namespace frazil::exec
