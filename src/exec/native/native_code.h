#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/value/error.h"

namespace frazil::exec {

/// Machine code in its own memory. Its pages are written before they become executable, and never after. Immutable.
class NativeCode {
 public:
  /// Loads a relocatable ELF object of this machine's architecture and finds function `name` in it. Undefined symbols
  /// must name functions that generated code may call: the C library's mathematics and memory functions, and
  /// stop_requested(). Returns Code::bad_input for an object that is damaged or of another kind, and
  /// Code::out_of_memory.
  static Result<std::shared_ptr<const NativeCode>> load(std::span<const std::byte> object, std::string_view name);

  NativeCode(const NativeCode&) = delete;
  NativeCode& operator=(const NativeCode&) = delete;
  ~NativeCode();

  template <class Function>
  Function entry() const {
    return reinterpret_cast<Function>(entry_);
  }
  /// Returns the size of the code's pages.
  std::size_t bytes() const { return bytes_; }
  const void* begin() const { return memory_; }

 private:
  NativeCode(void* memory, std::size_t bytes, void* entry) : memory_(memory), bytes_(bytes), entry_(entry) {}

  std::shared_ptr<void> symbols_;  // the registration with a debugger
  void* memory_;
  std::size_t bytes_;
  void* entry_;
};

}  // namespace frazil::exec
