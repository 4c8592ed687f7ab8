#pragma once

#include <string>
#include <vector>

#include "ir/infer.h"

// Small helpers for type rules.
namespace frazil::ops {

/// The numbers in integer input i; Code::unsupported when they are not known while the graph is built.
Result<Ints> known_ints(InferCx& cx, std::size_t i);
/// True when known_ints would give them.
bool is_known(InferCx& cx, std::size_t i);
/// The axes in integer input i, each once and non-negative.
Result<std::vector<int>> known_axes(InferCx& cx, std::size_t i, std::size_t rank);

// Axes that are read at run time: questions become numbers that are 0 or 1.

/// 1 where a == b, else 0.
Dim same_number(Scope& scope, Dim a, Dim b);
/// The axes in integer input i made non-negative, with a run-time check that they lie inside the rank and differ.
Result<std::vector<Dim>> front_axes(InferCx& cx, std::size_t i, std::size_t rank);
/// For each of `rank` axes 1 when integer input i names it, else 0; checked like front_axes.
Result<std::vector<Dim>> axis_marks(InferCx& cx, std::size_t i, std::size_t rank);
/// places[d][j]: 1 when axis d is not marked and exactly j axes before it are not marked either.
std::vector<std::vector<Dim>> unmarked_places(Scope& scope, const std::vector<Dim>& marks, std::size_t count);

/// d >= low, with a run-time check where it is not sure: "split[1] is too small: -2 is not 0".
Status require_at_least(InferCx& cx, Dim d, Dim low, std::string_view what);
/// Numbers of an attribute must lie in [low, 2^31): sums and products of a few of them then fit.
Status check_span(InferCx& cx, const Ints& list, std::int64_t low, std::string_view name);
/// The same of a list that has `count` entries or is left out.
Status check_list(InferCx& cx, const Ints& list, std::size_t count, std::int64_t low, std::string_view name);
/// Entry i of an attribute's list, or what stands for one that is left out.
inline std::int64_t listed(const Ints& list, std::size_t i, std::int64_t otherwise = 0) {
  return i < list.size() ? list[i] : otherwise;
}

/// One axis of broadcasting a with b, with a run-time check where it is not sure that they fit.
Result<Dim> broadcast_dim(InferCx& cx, Dim a, Dim b);
/// The factor by which an index into `out` counts along an operand's axis `dim` that broadcasts to it: 0 or 1.
Dim broadcast_step(Scope& scope, Dim dim, Dim out);

/// A view over the same elements in row-major order.
ViewMap reshape_view(std::vector<Dim> shape);
/// A view that reads every operand axis at the output axis of the same number.
ViewMap straight_view(const std::vector<Dim>& shape);

}  // namespace frazil::ops
