#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <frazil/worst_case.h>

namespace frazil::tool {

/// Adds the option --extent NAME=LEAST..MOST, which a report over all paths assumes.
void add_extents(CLI::App& command, std::vector<std::string>& to);
/// Returns the ranges of texts such as "N=1..512" and "N=8". Throws Code::bad_input for any other form.
std::map<std::string, api::ExtentRange> extent_ranges(const std::vector<std::string>& texts);

}  // namespace frazil::tool
