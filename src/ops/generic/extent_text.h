#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ir/graph/attr.h"
#include "ir/infer/infer.h"
#include "ir/op/opaque.h"

// Extents as text, for operators whose maps are attributes. They are expressions over extents and elements of a node's
// operands.
//   d0_2                          extent 2 of operand 0
//   v1_0                          element 0 of the integer operand 1
//   floordiv(d0_2 - 3, 2) + 1     as Scope::str writes expressions
namespace frazil::ops {

/// The maximal length of the text of one expression, in characters.
inline constexpr std::size_t kMaxExtentText = 4096;

/// Parses an expression over the node's operands. An error names `what`, the attribute.
Result<Dim> read_extent(InferCx& cx, std::string_view text, std::string_view what);
/// Parses and evaluates an expression at run time.
Result<std::int64_t> eval_extent(OpaqueCall& call, std::string_view text, std::string_view what);

/// Returns the text of d, with each symbol written as `name` returns it. Returns nullopt if `name` does so for a
/// symbol, or if the text is longer than kMaxExtentText.
std::optional<std::string> write_extent(const Scope& scope, Dim d,
                                        const std::function<std::optional<std::string>(SymbolId)>& name);

/// Checks equalities that must hold when the node runs, such as "d0_1 == d1_0: inner extents".
Status read_checks(InferCx& cx, const Strings& checks);

}  // namespace frazil::ops
