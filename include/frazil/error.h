#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

// The public API is declared in frazil::api. <frazil/frazil.h> imports the names into frazil.
namespace frazil::api {

/// The code of an error. User errors and bugs of Frazil have different codes.
enum class Code : std::uint8_t {
  bad_model,      ///< the model file or graph is not valid
  bad_input,      ///< an argument, a request's input or an environment variable is not valid
  unsupported,    ///< valid, but not supported by this build; the message contains a workaround
  limit,          ///< a configured limit (memory, steps, time, nesting) was exceeded
  out_of_memory,  ///< an allocation failed
  cancelled,      ///< cancelled on request
  internal,       ///< a bug in Frazil
};

/// Returns "bad input", ...
std::string_view name_of(Code code);

/// The only exception type that this API throws, besides std::bad_alloc. what() is one line that names the object at
/// fault: "input 'x': expected f32[N,3], got f32[2,4]".
class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message, std::string node = {})
      : std::runtime_error(message), code_(code), node_(std::move(node)) {}
  Code code() const noexcept { return code_; }
  /// Returns the node at fault, as what() names it: "node 'If_12' (If)". Empty if the error is not that of a node.
  const std::string& node() const noexcept { return node_; }

 private:
  Code code_;
  std::string node_;
};

}  // namespace frazil::api
