#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "lazy/program/cone.h"
#include "lazy/program/program.h"

namespace frazil::lazy {

/// A program, and the leaves of a cone that are its inputs. The other leaves are constants in it.
struct Found {
  std::shared_ptr<Program> program;
  /// By input: positions among the leaves. If there are several, the input is their tensors, concatenated along the
  /// first axis.
  std::vector<std::vector<std::uint32_t>> inputs;
  std::vector<HeldRef> parameters;  ///< kept alive, because keys contain their addresses
};

/// Returns the program of a cone; makes it if it does not exist. Cones with equal keys share one. Parameters are
/// constants in it. So are literals, as long as few different values are seen in their place. Keeps a bounded number of
/// programs and a bounded number of bytes. Thread-safe.
Result<std::shared_ptr<const Found>> find_program(const Cone& cone);

/// The result of seek_program().
struct ProgramLookup {
  std::shared_ptr<const Found> program;  ///< null: making one does not pay yet
  std::uint64_t structure = 0;           ///< if the program is null: the argument of ran_without_program()
};
/// Same, but makes a program only if that pays: if runs without it have taken as much time as making it.
Result<ProgramLookup> seek_program(const Cone& cone);
/// Adds the time of a run without a program.
void ran_without_program(std::uint64_t structure, std::chrono::nanoseconds time);

/// Counters of the process since its start, and the programs that it keeps.
struct ProgramCounts {
  std::uint64_t made = 0, found = 0;
  std::uint64_t without = 0;      ///< runs of structures that had no program
  std::size_t kept = 0;           ///< structures that have programs
  std::size_t kept_bytes = 0;     ///< bytes of their graphs and plans
  std::size_t session_bytes = 0;  ///< bytes that their sessions keep between runs
};
ProgramCounts program_counts();

}  // namespace frazil::lazy
