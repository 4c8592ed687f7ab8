#pragma once

#include <span>
#include <string_view>

namespace frazil::jit {

/// A part of the library, as LLVM bitcode.
struct Bitcode {
  const char *begin, *end;
};
/// Returns the vector functions of a vector set, by the name of its Isa; empty if this build has none.
std::span<const Bitcode> function_library(std::string_view isa);

}  // namespace frazil::jit
