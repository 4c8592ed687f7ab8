#pragma once

#include <string>

#include <frazil/operators.h>

namespace frazil::tool {

/// Facts about an operator for its documentation, in addition to its definition.
struct OpFacts {
  std::string kernels;   ///< the kernels on tier 0
  std::string numerics;  ///< exact, ulp, reassociated; see docs/decisions/0010
};

/// Derives the facts from the definition (form, scalar program, constant folding of a sample call) and the kernel
/// table.
OpFacts facts_of(const api::OperatorInfo& op);

}  // namespace frazil::tool
