#pragma once

#include <string>

namespace frazil {

/// Returns the user's folder for files that Frazil can make again: $XDG_CACHE_HOME/frazil, or ~/.cache/frazil. Returns
/// an empty path if the environment names neither. The folder need not exist.
std::string user_cache_folder();

}  // namespace frazil
