#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "choices.h"
#include "tensor/datum.h"

namespace frazil::fuzz {

/// A program in the text form of graphs, with loops, branches, and large next to small work. Branches and extents
/// depend on an input of zeros and ones, so that every executor takes the same path. Values differ between iterations,
/// so that a skipped or repeated step is detected.
struct RandomProgram {
  std::string text;
  std::string edited;                        ///< the same program with an additional node in the middle
  std::vector<std::vector<Datum>> requests;  ///< with different extents and branches
};
/// The extents of values and the number of guards in a program.
struct ProgramSizes {
  std::int64_t wide = 128, narrow = 16, ranked = 5000;
  int guards = 2;  ///< limit for branches with different ranks
};
RandomProgram random_program(Choices& choices, const ProgramSizes& sizes = {});

/// Returns a weight that programs refer to: "w0" to "w2", "u", "d" or "v".
Tensor program_weight(std::string_view name, const ProgramSizes& sizes = {});

}  // namespace frazil::fuzz
