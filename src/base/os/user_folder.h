#pragma once

#include <string>

namespace frazil {

/// The user's folder for what Frazil can make again: $XDG_CACHE_HOME/frazil, or ~/.cache/frazil. Empty where the
/// environment names neither; it need not exist.
std::string user_cache_folder();

}  // namespace frazil
