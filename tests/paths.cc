#include "paths.h"

namespace frazil::test {

std::filesystem::path source_dir() { return FRAZIL_SOURCE_DIR; }

std::filesystem::path built_tool() { return FRAZIL_TOOL; }

}  // namespace frazil::test
