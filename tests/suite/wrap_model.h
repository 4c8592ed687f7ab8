#pragma once

#include <span>
#include <string>

#include "base/error.h"

// Models whose nodes stand somewhere else and that mean the same.
namespace frazil::test {

enum class Wrap {
  none,
  then_branch,  ///< all nodes in both branches of an If, whose condition is a constant
  loop_body,    ///< all nodes in the body of a Loop that runs once; outputs are its scan outputs
  symbols,      ///< as they are, but every extent of an input is a symbol of its own, but those of lists of integers
};

/// The model with its nodes in a subgraph. Code::unsupported where the outputs do not allow it.
Result<std::string> wrapped(std::span<const std::byte> model, Wrap wrap);

}  // namespace frazil::test
