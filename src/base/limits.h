#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace frazil {

/// Four fifths of the memory that this machine has, or of what its control group (version 1 or 2) allows where that is
/// less; in bytes.
std::uint64_t usual_memory_limit();

/// What one run may use; past any of it the run ends with Code::limit.
struct Limits {
  std::uint64_t memory_bytes = usual_memory_limit();       ///< values that the session holds at one time
  std::uint64_t arena_bytes = ~std::uint64_t{0};           ///< of them, what it keeps from run to run
  std::uint64_t tensor_elements = std::uint64_t{1} << 36;  ///< of one tensor
  std::uint64_t steps = 1'000'000'000;  ///< steps of the tape; on the reference, nodes and iterations
  std::optional<std::chrono::steady_clock::duration> time;  ///< from the run's beginning
};

/// What loading one model may use; past any of it the load ends with Code::limit.
struct LoadLimits {
  std::uint64_t memory_bytes = usual_memory_limit();       ///< tensors that are not read where they lie in the file
  std::uint64_t tensor_elements = std::uint64_t{1} << 36;  ///< of one tensor
  std::uint64_t nodes = 10'000'000;                        ///< with those of inlined functions
  std::uint64_t nesting = 20'000;                          ///< subgraphs and function calls inside each other
  std::uint64_t name_bytes = 4096;                         ///< of one name
};

}  // namespace frazil
