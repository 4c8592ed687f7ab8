#pragma once

#include <cstdlib>
#include <filesystem>

namespace frazil::test {

// Both are compiled into paths.cc alone, so that the objects of tests are the same in every clone.

/// Root of this repository: the tests' own data.
std::filesystem::path source_dir();
/// The `frazil` command of this build.
std::filesystem::path built_tool();

// Models and cases outside the repository. It may be absent; tests that need it are then skipped.
inline std::filesystem::path shared_dir() {
  const char* dir = std::getenv("FRAZIL_SHARED");
  return dir ? std::filesystem::path(dir) : source_dir().parent_path() / "shared";
}

/// Why a test is skipped; scripts/run_tests.sh counts by reason.
inline constexpr const char* kNoShared = "needs models or cases in FRAZIL_SHARED";
inline constexpr const char* kNoInstructions = "needs instructions that this CPU lacks";
inline constexpr const char* kNoCommand = "needs the command frazil";

}  // namespace frazil::test
