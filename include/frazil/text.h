#pragma once

#include <string>
#include <string_view>

namespace frazil::api {

/// Returns the text on one line, for names and texts of model files, which may hold any bytes. Control characters and
/// invalid UTF-8 are escaped as \n, \t or \xHH.
std::string printable(std::string_view text);

}  // namespace frazil::api
