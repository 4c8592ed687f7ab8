#pragma once

#include <string>
#include <vector>

#include "ir/infer/infer.h"

// Small helpers for type rules.
namespace frazil::ops {

/// The numbers in integer input i; Code::unsupported when they are unknown at build time.
Result<Ints> known_ints(InferCx& cx, std::size_t i);
/// True when known_ints would succeed.
bool is_known(InferCx& cx, std::size_t i);
/// The axes in integer input i, distinct and non-negative.
Result<std::vector<int>> known_axes(InferCx& cx, std::size_t i, std::size_t rank);

// Axes that are read at run time: conditions become expressions that are 0 or 1.

/// 1 where a == b, else 0.
Dim same_number(Scope& scope, Dim a, Dim b);
/// The axes in integer input i made non-negative, with a run-time check that they are valid and distinct.
Result<std::vector<Dim>> front_axes(InferCx& cx, std::size_t i, std::size_t rank);
/// For each of `rank` axes 1 when integer input i names it, else 0; checked like front_axes.
Result<std::vector<Dim>> axis_marks(InferCx& cx, std::size_t i, std::size_t rank);
/// places[d][j]: 1 when axis d is not marked and exactly j axes before it are not marked either.
std::vector<std::vector<Dim>> unmarked_places(Scope& scope, const std::vector<Dim>& marks, std::size_t count);

/// Requires d >= low, at run time unless it is provable: "split[1] is too small: -2 is not 0".
Status require_at_least(InferCx& cx, Dim d, Dim low, std::string_view what);
/// Requires an attribute's numbers to be in [low, 2^31), so that sums and products of a few of them do not overflow.
Status check_span(InferCx& cx, const Ints& list, std::int64_t low, std::string_view name);
/// As check_span, for a list that has `count` entries or is omitted.
Status check_list(InferCx& cx, const Ints& list, std::size_t count, std::int64_t low, std::string_view name);
/// Entry i of an attribute's list, or `otherwise` when the list is omitted.
inline std::int64_t listed(const Ints& list, std::size_t i, std::int64_t otherwise = 0) {
  return i < list.size() ? list[i] : otherwise;
}

/// Broadcasts one axis of a and b, with a run-time check unless they provably fit.
Result<Dim> broadcast_dim(InferCx& cx, Dim a, Dim b);
/// The stride factor, 0 or 1, of an operand's axis `dim` that broadcasts to `out`.
Dim broadcast_step(Scope& scope, Dim dim, Dim out);

/// A view over the same elements in row-major order.
ViewMap reshape_view(std::vector<Dim> shape);
/// A view that reads each operand axis at the same output axis.
ViewMap straight_view(const std::vector<Dim>& shape);

}  // namespace frazil::ops
