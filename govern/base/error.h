#pragma once

#include <utility>

#include <fmt/format.h>
#include <frazil/error.h>

namespace frazil::govern {

using api::Code;
using api::Error;

/// Throws an error with a formatted text.
template <class... A>
[[noreturn]] void fail(Code code, fmt::format_string<A...> format, A&&... args) {
  throw Error(code, fmt::format(format, std::forward<A>(args)...));
}

}  // namespace frazil::govern
