#pragma once

#include <exception>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "compat/onnxruntime/include/onnxruntime_c_api.h"

/// An error that a function returned. Immutable.
struct OrtStatus {
  OrtErrorCode code;
  std::string message;
};

namespace frazil::ort {

/// The exception that functions of the table throw inside guarded().
class Failure : public std::exception {
 public:
  Failure(OrtErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  OrtErrorCode code() const { return code_; }

 private:
  OrtErrorCode code_;
  std::string message_;
};

template <class... Args>
[[noreturn]] void fail(OrtErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  throw Failure(code, fmt::format(text, std::forward<Args>(args)...));
}

/// Returns the status for the exception that is being handled.
OrtStatus* status_of_exception() noexcept;

/// Does nothing for null. Else throws the error of the status, and releases the status.
void check(OrtStatus* status);

/// Calls `body` and returns null, or the status for its exception. Each function of the table that can fail is such a
/// call, so that no exception leaves the library.
template <class F>
OrtStatus* guarded(F&& body) noexcept {
  try {
    std::forward<F>(body)();
    return nullptr;
  } catch (...) {
    return status_of_exception();
  }
}

/// Throws ORT_INVALID_ARGUMENT, naming the argument, if the pointer is null.
template <class T>
void require(T* pointer, const char* argument) {
  if (pointer == nullptr) fail(ORT_INVALID_ARGUMENT, "argument '{}' is null", argument);
}

}  // namespace frazil::ort
