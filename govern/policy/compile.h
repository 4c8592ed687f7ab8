#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "govern/policy/input.h"
#include "govern/policy/program.h"
#include "govern/policy/syntax.h"
#include "govern/policy/type.h"

namespace frazil::govern {

/// A named constant of a policy.
struct Constant {
  ValueType type;
  Value value;
  Place at;
  bool used = false;
};
using Constants = std::map<std::string, Constant, std::less<>>;

/// An expression with its type and what is known of it without an input.
struct Compiled {
  std::uint32_t node = 0;
  ValueType type;
  double cost = 1;              ///< the worst case, in the units of cost.h
  bool reads = false;           ///< depends on the input
  bool reads_request = false;   ///< depends on a field marked per_request
  bool tests_request = false;   ///< has() asks whether such a field is present
  bool fails = false;           ///< an error for every input
  std::uint32_t variables = 0;  ///< macro variables that are free in it, as bits
};

/// The purpose of a compiled expression.
struct Target {
  PolicyProgram& program;
  Constants& constants;
  const Layout& layout;
  std::string_view file;  ///< in errors
  std::string context;    ///< in errors, after the place: "rule 'r', hook 'run': "
};

/// Checks the types of an expression and adds it to the program; constant parts become their values. Throws
/// Code::bad_input with line and column.
Compiled compile(const Expr& expr, const Target& target);

}  // namespace frazil::govern
