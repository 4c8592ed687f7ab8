#pragma once

#include <string>
#include <vector>

#include "tool/common.h"
#include "tool/requests.h"

namespace frazil::tool {

/// Writes the package of a model after runs with each shape of `shapes` (texts of --shapes). Without shapes, runs the
/// given requests. Tier auto means 2. Returns the number of objects of generated code.
std::size_t compile_model(const std::string& path, const std::string& output, const RequestOptions& requests,
                          const std::vector<std::string>& shapes, const Common& common);

}  // namespace frazil::tool
