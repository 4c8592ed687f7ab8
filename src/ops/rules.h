#pragma once

#include <string>
#include <vector>

#include "ir/infer.h"

// Small helpers for type rules.
namespace frazil::ops {

/// The numbers in integer input i; Code::unsupported when they are not known while the graph is built.
Result<Ints> known_ints(InferCx& cx, std::size_t i);
/// The axes in integer input i, each once and non-negative.
Result<std::vector<int>> known_axes(InferCx& cx, std::size_t i, std::size_t rank);

/// One axis of broadcasting a with b, with a run-time check where it is not sure that they fit.
Result<Dim> broadcast_dim(InferCx& cx, Dim a, Dim b);
/// The factor by which an index into `out` counts along an operand's axis `dim` that broadcasts to it: 0 or 1.
Dim broadcast_step(Scope& scope, Dim dim, Dim out);

/// A view that reads every operand axis at the output axis of the same number.
ViewMap straight_view(const std::vector<Dim>& shape);

}  // namespace frazil::ops
