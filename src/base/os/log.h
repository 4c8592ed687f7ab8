#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace frazil::logging {

/// Sets the log level, a value of FRAZIL_DEBUG, which gives the initial level. Thread-safe.
void set_level(int level);
/// Returns true if messages of `level` (1..6) are logged. Costs one relaxed load.
bool enabled(int level);

/// Writes one message to stderr. Thread-safe, never throws.
void write(int level, std::string_view message) noexcept;
/// Writes a warning at every level.
void warn(std::string_view message) noexcept;

/// Formats and writes a message if `level` is enabled.
template <class... A>
void debug(int level, fmt::format_string<A...> format, A&&... args) {
  if (enabled(level)) write(level, fmt::format(format, std::forward<A>(args)...));
}

}  // namespace frazil::logging
