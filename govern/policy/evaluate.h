#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <string>

#include "govern/policy/input.h"
#include "govern/policy/program.h"

namespace frazil::govern {

/// The input and the limits of an evaluation. One thread uses it.
struct EvalScope {
  const PolicyProgram& program;
  std::span<const Value> slots;
  std::pmr::memory_resource& memory;                                ///< of texts and lists that the expression makes
  std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();  ///< nodes that may still be evaluated
  bool stopped = false;                                             ///< no steps were left
  std::array<Value, kMaxVariables> variables = {};
};

/// Evaluates a node. The result is a value of the node's kind or an error. Throws only what the memory resource throws.
Value evaluate(EvalScope& scope, std::uint32_t node);

/// Returns whether values of one type are equal.
bool is_equal(const Value& a, const Value& b);

/// Describes an error: "12:8: field 'forecast.memory' is absent". Never contains a value of the input.
std::string describe(const Value& error, const PolicyProgram& program, const Layout& layout);

}  // namespace frazil::govern
