#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace frazil {

/// Returns the default memory limit in bytes: four fifths of the machine's memory, or of the control group's limit
/// (version 1 or 2) if that is lower.
std::uint64_t usual_memory_limit();

/// Limits of one run. Exceeding one ends the run with Code::limit.
struct Limits {
  std::uint64_t memory_bytes = usual_memory_limit();       ///< bytes of values held at a time
  std::uint64_t arena_bytes = ~std::uint64_t{0};           ///< bytes of values kept between runs
  std::uint64_t tensor_elements = std::uint64_t{1} << 36;  ///< per tensor
  std::uint64_t steps = 1'000'000'000;  ///< plan steps; on the reference executor, nodes and iterations
  std::optional<std::chrono::steady_clock::duration> time;  ///< since the start of the run
};

/// Limits of loading one model. Exceeding one ends the load with Code::limit.
struct LoadLimits {
  std::uint64_t memory_bytes = usual_memory_limit();  ///< tensor data copied out of the file; mapped data do not count
  std::uint64_t tensor_elements = std::uint64_t{1} << 36;  ///< per tensor
  std::uint64_t nodes = 10'000'000;                        ///< including those of inlined functions
  std::uint64_t nesting = 20'000;                          ///< depth of subgraphs and function calls
  std::uint64_t name_bytes = 4096;                         ///< per name
};

}  // namespace frazil
