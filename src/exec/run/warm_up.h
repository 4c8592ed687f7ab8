#pragma once

#include <functional>

#include "base/value/error.h"

namespace frazil::exec {

/// Calls `run` until all code that pays for it has been made. Used before a measurement. Returns the first error of
/// `run`.
Status warm_up(const std::function<Status()>& run);

}  // namespace frazil::exec
