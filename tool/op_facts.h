#pragma once

#include <string>

#include "ir/op/op.h"

namespace frazil::tool {

/// Facts about an operator for its documentation, besides its definition.
struct OpFacts {
  std::string kernels;   ///< what runs it on tier 0
  std::string numerics;  ///< exact, ulp, reassociated; see docs/decisions/0010
};

/// Derived from the definition (form, scalar program, folds of a sample call) and the table of kernels.
OpFacts facts_of(const OpDef& op);

}  // namespace frazil::tool
