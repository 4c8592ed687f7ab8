#pragma once

#include <string_view>

#include "ir/graph/graph.h"

namespace frazil::pass {

/// The name of the input that ragged() adds, if the graph has no input of this name.
inline constexpr std::string_view kLengths = "lengths";

/// Returns the graph that runs `graph` on requests of different lengths, joined without padding. `extent` names the
/// symbol of the length. Along the axes that have it, inputs hold the rows of all requests one after the other, and so
/// do results. The last input, `lengths` (i64), has the number of rows of each request, at least 1. The other inputs
/// are the same for every request.
/// Recurrent layers fail a run whose lengths have another sum.
/// Values with one row per position are computed for all rows at once. Recurrent layers take the rows of a
/// request as a sequence of its own, and are fastest if lengths decrease.
/// Returns Code::bad_input if no input has the symbol, and Code::unsupported, with the name of the node, if a row of a
/// result depends on several rows in another way.
Result<Graph> ragged(const Graph& graph, std::string_view extent);

}  // namespace frazil::pass
