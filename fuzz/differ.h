#pragma once

#include <optional>

#include "random_graph.h"

namespace frazil::fuzz {

/// Checks a case: tables and types verify, the text parses back to the same graph, and tier 0 agrees with the reference
/// executor in every run.
std::optional<Finding> check(const Case& c);

/// Returns the expected outputs of one run, those of the reference executor.
Result<std::vector<Datum>> run_on_reference(const Graph& graph, const std::vector<Datum>& inputs);
Result<std::vector<Datum>> run_on_tier0(const Graph& graph, const std::vector<Datum>& inputs);

/// Returns the message as one line, without numbers and names of a particular graph.
std::string kind_of(std::string_view message);

}  // namespace frazil::fuzz
