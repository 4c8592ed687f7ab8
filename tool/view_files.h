#pragma once

#include <vector>

#include "tool/page_server.h"

namespace frazil::tool {

/// Returns the page of `frazil view` and its libraries. They are embedded in the command and need no network.
std::vector<PageFile> view_files();

}  // namespace frazil::tool
