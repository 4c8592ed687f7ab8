#pragma once

#include <vector>

#include "tool/page_server.h"

namespace frazil::tool {

/// The page of `frazil view` and the libraries that it uses, which are part of the command: it needs no network.
std::vector<PageFile> view_files();

}  // namespace frazil::tool
