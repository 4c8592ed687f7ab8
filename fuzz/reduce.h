#pragma once

#include <functional>
#include <string>

#include "random_graph.h"

namespace frazil::fuzz {

/// A case as small as could be made with `found` still being found, by `failure`, which gives the kind of what it
/// finds.
Case reduce(const Case& c, const std::string& kind, const std::function<std::string(const Case&)>& failure);

/// The case as a test of tests/suite/*.frz. What the runs must give comes from the reference executor, if it can be
/// asked.
std::string as_test(const Case& c, std::string_view name, bool crashes = false);

}  // namespace frazil::fuzz
