#pragma once

#include <string>
#include <string_view>

namespace frazil {

bool is_utf8(std::string_view text);

/// The text fit for one line: control characters and bytes that are not UTF-8 as \n, \t or \xHH, the rest as it is.
std::string printable(std::string_view text);

}  // namespace frazil
