#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

// Everything public lives in frazil::api; <frazil/frazil.h> brings it into frazil, which is how programs name it.
namespace frazil::api {

/// What went wrong. User faults and Frazil's own bugs have different codes.
enum class Code : std::uint8_t {
  bad_model,      ///< the model file or graph is not valid
  bad_input,      ///< an argument, a request's input or an environment variable is not valid
  unsupported,    ///< valid, but this build or version cannot do it; the message says what to do
  limit,          ///< a configured limit (memory, steps, time, nesting) was reached
  out_of_memory,  ///< the system had no memory
  cancelled,      ///< stopped on request
  internal,       ///< a bug in Frazil
};

/// The one exception type that this API throws, std::bad_alloc aside. what() is one line and names the thing at fault:
/// "input 'x': expected f32[N,3], got f32[2,4]".
class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const noexcept { return code_; }

 private:
  Code code_;
};

}  // namespace frazil::api
