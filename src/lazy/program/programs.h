#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "lazy/program/cone.h"
#include "lazy/program/program.h"

namespace frazil::lazy {

/// A program, and the leaves of a cone that are its inputs; the others are constants in it.
struct Found {
  std::shared_ptr<Program> program;
  /// By input: positions among the leaves. Several positions: the input is these tensors, one after the other.
  std::vector<std::vector<std::uint32_t>> inputs;
  std::vector<HeldRef> parameters;  ///< which stay, as they are known by their addresses
};

/// Returns the program of a cone, and makes it if it does not exist; cones with equal keys share one. Parameters are
/// constants in it, and so are literals as long as few different ones are seen in their place. Keeps a bounded number
/// of programs, of a bounded number of bytes. Thread-safe.
Result<std::shared_ptr<const Found>> find_program(const Cone& cone);

/// The result of seek_program().
struct Sought {
  std::shared_ptr<const Found> program;  ///< null: making one does not pay yet
  std::uint64_t structure = 0;           ///< of a null program: the argument of ran_without_program()
};
/// The same, but makes a program only where that pays: after runs without it have cost as much time as making it takes.
Result<Sought> seek_program(const Cone& cone);
/// Counts the time of a run without a program.
void ran_without_program(std::uint64_t structure, std::chrono::nanoseconds time);

/// Counts of the process since its start, and what it keeps now.
struct ProgramCounts {
  std::uint64_t made = 0, found = 0;
  std::uint64_t without = 0;      ///< runs of structures that had no program
  std::size_t kept = 0;           ///< structures that have programs
  std::size_t kept_bytes = 0;     ///< of their graphs and plans
  std::size_t session_bytes = 0;  ///< that their sessions keep between runs
};
ProgramCounts program_counts();

}  // namespace frazil::lazy
