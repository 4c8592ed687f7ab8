#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace frazil {

/// Error codes. Errors of the user and bugs of Frazil have different codes.
enum class Code : std::uint8_t {
  bad_model,      ///< the model file or graph is not valid
  bad_input,      ///< a request's input, a flag or an environment variable is not valid
  unsupported,    ///< valid, but not supported by this build; the message says what to do
  limit,          ///< a configured limit (memory, steps, time, nesting) was reached
  out_of_memory,  ///< an allocation failed
  cancelled,      ///< cancelled on request
  internal,       ///< a bug in Frazil
};

std::string_view name_of(Code code);

/// An error as a value. `message` is one line that names the object at fault: "node 'If_12' (If), input 'cond':
/// expected bool[], got float[1,2]".
struct Fault {
  Code code = Code::internal;
  std::string message;
};

template <class T>
using Result = std::expected<T, Fault>;
using Status = Result<void>;

template <class... A>
[[nodiscard]] std::unexpected<Fault> fail(Code code, fmt::format_string<A...> format, A&&... args) {
  return std::unexpected(Fault{code, fmt::format(format, std::forward<A>(args)...)});
}

/// Puts `context` before the fault's message, e.g. "node 'Conv_1' (Conv): ".
[[nodiscard]] inline std::unexpected<Fault> within(std::string_view context, Fault fault) {
  fault.message.insert(0, context);
  return std::unexpected(std::move(fault));
}

}  // namespace frazil

#define FRAZIL_CAT_(a, b) a##b
#define FRAZIL_CAT(a, b) FRAZIL_CAT_(a, b)

/// Returns the fault of `expr` (a Status or Result) from the enclosing function, if it has one.
#define FRAZIL_CHECK(expr)                                                          \
  do {                                                                              \
    if (auto frazil_status_ = (expr); !frazil_status_)                              \
      return std::unexpected(std::move(frazil_status_).error());                    \
  } while (false)

/// `FRAZIL_TRY(auto x, expr)`: declares x with the value of the Result `expr`, or returns its fault.
#define FRAZIL_TRY_(tmp, decl, expr)                              \
  auto tmp = (expr);                                              \
  if (!tmp) return std::unexpected(std::move(tmp).error());       \
  decl = std::move(*tmp)
#define FRAZIL_TRY(decl, expr) FRAZIL_TRY_(FRAZIL_CAT(frazil_try_, __LINE__), decl, expr)
