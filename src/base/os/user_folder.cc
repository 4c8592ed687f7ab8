#include "base/os/user_folder.h"

#include <cstdlib>

namespace frazil {

std::string user_cache_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/frazil";
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/frazil" : std::string();
}

}  // namespace frazil
