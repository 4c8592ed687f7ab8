#pragma once

#include <string>

#include "ir/op.h"

namespace frazil::tool {

/// What a page on operators says of one beside its definition.
struct OpFacts {
  std::string kernels;   ///< what serves it on tier 0
  std::string numerics;  ///< exact, ulp, reassociated; see docs/decisions/0010
};

/// Read off the definition: its form, its scalar tape and the folds of a call of it, and the table of kernels.
OpFacts facts_of(const OpDef& op);

}  // namespace frazil::tool
