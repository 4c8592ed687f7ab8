#pragma once

#include <string_view>

#include "govern/policy/syntax.h"

namespace frazil::govern {

/// Limits of a policy's text.
inline constexpr std::size_t kMaxPolicyBytes = 256 << 10, kMaxRules = 1000;
inline constexpr std::uint32_t kMaxExpressionDepth = 200;

/// Reads the text of a policy. `file` names it in errors. Throws Code::bad_input with line and column, and Code::limit
/// for texts beyond the limits.
PolicySyntax parse_policy(std::string_view text, std::string_view file);
/// Reads one expression and nothing after it.
Expr parse_expression(std::string_view text, std::string_view file);

}  // namespace frazil::govern
