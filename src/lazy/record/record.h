#pragma once

#include <span>

#include "lazy/record/node.h"

namespace frazil::lazy {

/// Records an operation on values; nothing runs. The fault of inputs that do not fit names the user's line. While a
/// function is traced (lazy/record/trace.h), the operation becomes nodes of its graph. A program that records on and on
/// without reading anything has the oldest part run.
Result<Handle> record(const Operation& operation, std::span<const Ref> inputs, const Place& place);

}  // namespace frazil::lazy
