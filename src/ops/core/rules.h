#pragma once

#include <string>
#include <vector>

#include "ir/infer/infer.h"

// Helpers for type rules.
namespace frazil::ops {

/// Returns the numbers in integer input i. Fails with Code::unsupported if they are unknown at build time.
Result<Ints> known_ints(InferCx& cx, std::size_t i);
/// Returns true if known_ints would succeed.
bool is_known(InferCx& cx, std::size_t i);
/// Returns the axes in integer input i, distinct and non-negative.
Result<std::vector<int>> known_axes(InferCx& cx, std::size_t i, std::size_t rank);

// Axes that are read at run time. Conditions become expressions that are 0 or 1.

/// Returns 1 if a == b, else 0.
Dim same_number(Scope& scope, Dim a, Dim b);
/// Returns the axes in integer input i as non-negative numbers, with a run-time check that they are valid and distinct.
Result<std::vector<Dim>> front_axes(InferCx& cx, std::size_t i, std::size_t rank);
/// Returns 1 for each of `rank` axes that integer input i names, else 0. Checks the axes as front_axes does.
Result<std::vector<Dim>> axis_marks(InferCx& cx, std::size_t i, std::size_t rank);
/// Returns places[d][j]: 1 if axis d is unmarked and exactly j axes before it are unmarked, else 0.
std::vector<std::vector<Dim>> unmarked_places(Scope& scope, const std::vector<Dim>& marks, std::size_t count);

/// Requires d >= low, at run time if it is not provable. Example of the message: "split[1] is too small: -2 is not 0".
Status require_at_least(InferCx& cx, Dim d, Dim low, std::string_view what);
/// Requires an attribute's numbers to be in [low, 2^31), so that sums and products of a few of them do not overflow.
Status check_span(InferCx& cx, const Ints& list, std::int64_t low, std::string_view name);
/// Requires a list to be omitted, or to have `count` entries that pass check_span.
Status check_list(InferCx& cx, const Ints& list, std::size_t count, std::int64_t low, std::string_view name);
/// Returns entry i of an attribute's list, or `otherwise` if the list is omitted.
inline std::int64_t listed(const Ints& list, std::size_t i, std::int64_t otherwise = 0) {
  return i < list.size() ? list[i] : otherwise;
}

/// Broadcasts one axis of a and b, with a run-time check unless it provably succeeds.
Result<Dim> broadcast_dim(InferCx& cx, Dim a, Dim b);
/// Returns the stride factor, 0 or 1, of an operand's axis `dim` that broadcasts to `out`.
Dim broadcast_step(Scope& scope, Dim dim, Dim out);

/// Returns a view over the same elements in row-major order.
ViewMap reshape_view(std::vector<Dim> shape);
/// Returns a view that reads each operand axis at the same output axis.
ViewMap straight_view(const std::vector<Dim>& shape);

}  // namespace frazil::ops
