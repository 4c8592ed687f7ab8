#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace frazil::govern {

/// A time in seconds since 1970-01-01T00:00:00Z, without leap seconds.
using Moment = std::int64_t;

/// Returns "2026-11-28T14:05:09Z" (RFC 3339). Years are 1970 to 9999; other moments throw Code::bad_input.
std::string moment_text(Moment moment);
/// Returns the moment of a text in exactly this form, or nullopt.
std::optional<Moment> moment_from(std::string_view text);
/// Returns the time of the system's clock.
Moment moment_now();

}  // namespace frazil::govern
