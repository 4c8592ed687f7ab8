#pragma once

#include <string>
#include <string_view>

namespace frazil::govern {

/// Returns a foreign text in the form in which errors show it: one line of at most 80 bytes, in which control
/// characters are '?'.
inline std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 80;
  std::string line(text.substr(0, kMost));
  for (char& c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  while (text.size() > kMost && !line.empty() && (static_cast<unsigned char>(line.back()) & 0x80) != 0) line.pop_back();
  return text.size() > kMost ? line + "..." : line;
}

}  // namespace frazil::govern
