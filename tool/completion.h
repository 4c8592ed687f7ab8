#pragma once

#include <string>

#include "tool/option_table.h"

namespace frazil::tool {

/// Return a script that completes commands, options and their values in a shell.
std::string bash_completion(const CommandTable& program);
std::string zsh_completion(const CommandTable& program);

}  // namespace frazil::tool
