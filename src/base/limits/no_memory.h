#pragma once

#include "base/value/error.h"

namespace frazil {

/// Returns Code::out_of_memory. The message needs no memory: it is short enough to be stored inside the string object.
inline std::unexpected<Fault> no_memory_left() { return std::unexpected(Fault{Code::out_of_memory, "no memory left"}); }

}  // namespace frazil
