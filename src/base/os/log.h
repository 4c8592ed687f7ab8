#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace frazil::logging {

/// Sets how much is logged: a level of FRAZIL_DEBUG, which is the level at the start. Thread-safe.
void set_level(int level);
/// True when messages of `level` (1..6) are wanted. One relaxed load.
bool enabled(int level);

/// One message to stderr. Thread-safe, never throws.
void write(int level, std::string_view message) noexcept;
/// Said at every level.
void warn(std::string_view message) noexcept;

/// Formats and writes where `level` is enabled.
template <class... A>
void debug(int level, fmt::format_string<A...> format, A&&... args) {
  if (enabled(level)) write(level, fmt::format(format, std::forward<A>(args)...));
}

}  // namespace frazil::logging
