#pragma once

#include "base/value/error.h"

namespace frazil {

/// Code::out_of_memory, in a message that takes no memory itself: short enough to lie inside the string.
inline std::unexpected<Fault> no_memory_left() { return std::unexpected(Fault{Code::out_of_memory, "no memory left"}); }

}  // namespace frazil
