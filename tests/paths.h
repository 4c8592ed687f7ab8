#pragma once

#include <cstdlib>
#include <filesystem>

namespace frazil::test {

// Root of this repository: the tests' own data.
inline std::filesystem::path source_dir() { return FRAZIL_SOURCE_DIR; }

// Models and cases outside the repository. It may be absent; tests that need it are then skipped.
inline std::filesystem::path shared_dir() {
  const char* dir = std::getenv("FRAZIL_SHARED");
  return dir ? std::filesystem::path(dir) : source_dir().parent_path() / "shared";
}

}  // namespace frazil::test
