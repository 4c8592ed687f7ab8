#pragma once

#include <string>
#include <string_view>

#include "tool/option_table.h"

namespace frazil::tool {

/// Returns the manual page frazil(1) in the language of man(7), with the environment variables of knob_table().
std::string manual_of(const CommandTable& program, std::string_view version);

}  // namespace frazil::tool
