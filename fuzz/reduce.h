#pragma once

#include <functional>
#include <string>

#include "random_graph.h"

namespace frazil::fuzz {

/// Returns the smallest case found for which `failure` still returns `kind`.
Case reduce(const Case& c, const std::string& kind, const std::function<std::string(const Case&)>& failure);

/// Writes the case as a test of tests/suite/*.frz. The expected outputs are those of the reference executor, if
/// available.
std::string as_test(const Case& c, std::string_view name, bool crashes = false);

}  // namespace frazil::fuzz
