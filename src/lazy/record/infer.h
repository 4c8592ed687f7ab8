#pragma once

#include <span>

#include "lazy/record/node.h"

namespace frazil::lazy {

/// Sets the types of a pending node's results from those of its inputs, as far as they are known before it runs; a
/// type that is known already stays. The fault of inputs that do not fit names the user's line. Remembers, per thread,
/// what it found.
Status infer_types(Node& node);

}  // namespace frazil::lazy
