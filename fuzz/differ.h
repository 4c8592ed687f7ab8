#pragma once

#include <optional>

#include "random_graph.h"

namespace frazil::fuzz {

/// Holds a case against everything that must be true of it: tables and types verify, the text reads back to the same
/// graph, and tier 0 does in every run what the reference executor does.
std::optional<Finding> check(const Case& c);

/// What one run must give: the outputs of the reference executor.
Result<std::vector<Datum>> run_on_reference(const Graph& graph, const std::vector<Datum>& inputs);
Result<std::vector<Datum>> run_on_tier0(const Graph& graph, const std::vector<Datum>& inputs);

/// One line without the numbers and names of one graph.
std::string kind_of(std::string_view message);

}  // namespace frazil::fuzz
