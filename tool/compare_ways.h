#pragma once

#include <string>

#include "tool/common.h"
#include "tool/requests.h"

namespace frazil::tool {

/// Measures a model in three ways, each in its own process: dynamic (tier 0), hybrid (tier auto) and static (a package
/// compiled for these requests). Prints a table or JSON. `plot` is empty or an SVG file for the time of each request
/// from the first on. Returns the exit code.
int compare_ways(const std::string& model, const RequestOptions& requests, const std::string& plot,
                 const Common& common);

}  // namespace frazil::tool
