#include "sym/name.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace frazil::sym {
namespace {

bool is_plain(std::string_view name) {
  if (name.empty() || !starts_name(name[0]) || !std::ranges::all_of(name, continues_name)) return false;
  return name != "floordiv" && name != "mod" && name != "min" && name != "max";
}

void append_char(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20 || byte == 0x7f)
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
  else
    out += c;
}

}  // namespace

std::string quoted_name(std::string_view name) {
  if (is_plain(name)) return std::string(name);
  std::string out = "`";
  for (char c : name) {
    if (c == '`' || c == '\\') out += '\\';
    append_char(out, c);
  }
  return out + "`";
}

}  // namespace frazil::sym
