#pragma once

#include <span>
#include <string>

#include "base/value/error.h"

// Equivalent models with their nodes in another place.
namespace frazil::test {

enum class Wrap {
  none,
  then_branch,  ///< all nodes in both branches of an If, whose condition is a constant
  loop_body,    ///< all nodes in the body of a Loop that runs once; outputs are its scan outputs
  symbols,      ///< unchanged, except that every extent of an input is a separate symbol, apart from those of lists of
                ///< integers
};

/// The model with its nodes in a subgraph. Code::unsupported if the outputs do not allow it.
Result<std::string> wrapped(std::span<const std::byte> model, Wrap wrap);

}  // namespace frazil::test
