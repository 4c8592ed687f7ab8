#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace frazil::exec {

/// Registers generated code at [`begin`, `begin` + `bytes`) with profilers and debuggers, as FRAZIL_CODE_SYMBOLS
/// selects. perf gets a line in /tmp/perf-PID.map; gdb gets the object through its interface for JIT compilers.
/// `object` is the code's ELF file, whose sections have the addresses that they were loaded to. gdb drops the code when
/// the returned object is destroyed. Returns null if gdb is not selected. Thread-safe.
std::shared_ptr<void> register_symbols(std::string_view name, const void* begin, std::size_t bytes,
                                       std::span<const std::byte> object);

/// Returns true if FRAZIL_CODE_SYMBOLS selects a profiler or debugger.
bool symbols_are_enabled();

}  // namespace frazil::exec
