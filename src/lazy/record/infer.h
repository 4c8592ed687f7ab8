#pragma once

#include <span>

#include "lazy/record/node.h"

namespace frazil::lazy {

/// Sets the types of a pending node's results if all types of its inputs are known. A result whose type is known only
/// after the run gets null. The fault of inputs that do not fit names the user's line. Caches its results per thread.
Status infer_types(Node& node);

}  // namespace frazil::lazy
