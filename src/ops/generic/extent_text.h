#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ir/graph/attr.h"
#include "ir/infer/infer.h"
#include "ir/op/opaque.h"

// Extents as text: expressions over what a node's operands have, for operators whose maps are attributes.
//   d0_2                          extent 2 of operand 0
//   v1_0                          element 0 of the integer operand 1
//   floordiv(d0_2 - 3, 2) + 1     as Scope::str writes expressions
namespace frazil::ops {

/// Longest text of one expression.
inline constexpr std::size_t kMaxExtentText = 4096;

/// The expression over the node's operands; an error names `what`, the attribute.
Result<Dim> read_extent(InferCx& cx, std::string_view text, std::string_view what);
/// The same at run time.
Result<std::int64_t> eval_extent(OpaqueCall& call, std::string_view text, std::string_view what);

/// The text of d with each symbol written as `name` says; nullopt where it gives none for one of them, or the text
/// is longer than kMaxExtentText.
std::optional<std::string> write_extent(const Scope& scope, Dim d,
                                        const std::function<std::optional<std::string>(SymbolId)>& name);

/// "d0_1 == d1_0: inner extents": equalities that must hold when the node runs.
Status read_checks(InferCx& cx, const Strings& checks);

}  // namespace frazil::ops
