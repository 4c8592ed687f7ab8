#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <frazil/error.h>

namespace frazil::tool {

using api::Code;
using api::Error;

/// Throws an error with a formatted text.
template <class... A>
[[noreturn]] void fail(Code code, fmt::format_string<A...> format, A&&... args) {
  throw Error(code, fmt::format(format, std::forward<A>(args)...));
}

/// Calls a function and puts `context` before the text of its errors: "input 'x': ".
template <class F>
decltype(auto) within(std::string_view context, F&& function) {
  try {
    return std::forward<F>(function)();
  } catch (const Error& error) {
    throw Error(error.code(), std::string(context) + error.what(), error.node());
  }
}

}  // namespace frazil::tool
