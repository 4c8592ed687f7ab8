#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace frazil::exec {

/// Tells profilers and debuggers that generated code lies at [`begin`, `begin` + `bytes`), as FRAZIL_CODE_SYMBOLS asks:
/// perf by a line in /tmp/perf-PID.map, gdb by its interface for JIT compilers. `object` is the code's ELF file, whose
/// sections have the addresses that they were loaded to. gdb forgets the code when what is returned dies; null where it
/// was not told. Thread-safe.
std::shared_ptr<void> tell_symbols(std::string_view name, const void* begin, std::size_t bytes,
                                   std::span<const std::byte> object);

/// True where the object is wanted.
bool wants_symbols();

}  // namespace frazil::exec
