#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

// Everything public is declared in frazil::api; <frazil/frazil.h> imports the names into frazil.
namespace frazil::api {

/// Error codes. Errors of the user and bugs of Frazil have different codes.
enum class Code : std::uint8_t {
  bad_model,      ///< the model file or graph is not valid
  bad_input,      ///< an argument, a request's input or an environment variable is not valid
  unsupported,    ///< valid, but not supported by this build; the message says what to do
  limit,          ///< a configured limit (memory, steps, time, nesting) was exceeded
  out_of_memory,  ///< an allocation failed
  cancelled,      ///< cancelled on request
  internal,       ///< a bug in Frazil
};

/// The only exception type thrown by this API, besides std::bad_alloc. what() is one line that names what is at fault:
/// "input 'x': expected f32[N,3], got f32[2,4]".
class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const noexcept { return code_; }

 private:
  Code code_;
};

}  // namespace frazil::api
