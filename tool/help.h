#pragma once

#include <string>
#include <string_view>

#include "tool/option_table.h"

namespace frazil::tool {

/// Returns the width of help in columns, at most 100: COLUMNS if it is a number, otherwise that of the terminal on
/// stdout, otherwise 80.
std::size_t help_width();
/// Returns paragraphs in lines of at most `width` columns. A line that begins with a space is a row of two columns, or
/// an example, which backslashes continue.
std::string notes_of(std::string_view notes, std::size_t width);
/// Returns the help of a command in lines of at most `width` columns, unless a single word is longer. `path` is
/// "frazil run".
std::string help_of(const CommandTable& command, std::string_view path, std::size_t width);

}  // namespace frazil::tool
