#pragma once

#include <span>

#include "lazy/record/node.h"

namespace frazil::lazy {

/// Records an operation on values without running it. The fault of inputs that do not fit names the user's line. While
/// a function is traced (lazy/record/trace.h), the operation becomes nodes of its graph. If the chain of pending nodes
/// is too long, runs the inputs first.
Result<Handle> record(const Operation& operation, std::span<const Ref> inputs, const Place& place);

}  // namespace frazil::lazy
