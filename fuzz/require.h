#pragma once

#include <cstdlib>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/value/error.h"

namespace frazil::fuzz {

/// A copy of stderr, made before libFuzzer closes it to suppress warnings about models.
inline const int own_stderr = ::dup(STDERR_FILENO);

/// Aborts the process as a finding unless the condition is true.
template <class... A>
void require(bool condition, fmt::format_string<A...> what, A&&... args) {
  if (condition) return;
  const std::string line = fmt::format("FINDING: {}\n", fmt::format(what, std::forward<A>(args)...));
  [[maybe_unused]] const auto written = ::write(own_stderr, line.data(), line.size());
  std::abort();
}

/// Requires that a fault is fit for users: one line, and not an internal error.
inline void require_plain(const Fault& fault) {
  require(fault.code != Code::internal, "{}: {}", name_of(fault.code), fault.text());
  require(!fault.message.empty(), "an empty message");
  for (const char c : fault.text()) {
    require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "a message of several lines: {}", fault.text());
  }
}

}  // namespace frazil::fuzz
