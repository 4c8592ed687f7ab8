#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "compat/onnxruntime/environment.h"
#include "compat/onnxruntime/status.h"

namespace frazil::ort {

/// A text as a template argument.
template <std::size_t N>
struct Text {
  char chars[N];
  consteval Text(const char (&text)[N]) { std::copy_n(text, N, chars); }  // NOLINT(google-explicit-constructor)
  constexpr std::string_view view() const { return {chars, N - 1}; }
};

/// The functions that functions.def declares as refused: they fail with a status that names them. Those that return
/// something else than a status return null or 0.
template <class Pointer, Text Name, OrtErrorCode Code, Text Reason>
struct Refused;
template <class R, class... Args, Text Name, OrtErrorCode Code, Text Reason>
struct Refused<R (*)(Args...), Name, Code, Reason> {
  static R call(Args...) noexcept {
    if constexpr (std::is_same_v<R, OrtStatus*>)
      return guarded([] { fail(Code, "{}: {}", Name.view(), Reason.view()); });
    else if constexpr (!std::is_void_v<R>)
      return R{};
  }
};

/// The functions that functions.def declares as ignored.
template <class Pointer, Text Name, Text Why>
struct Ignored;
template <class R, class... Args, Text Name, Text Why>
struct Ignored<R (*)(Args...), Name, Why> {
  static R call(Args...) noexcept {
    log_hint(Name.view(), Why.view());
    return R();
  }
};

}  // namespace frazil::ort
