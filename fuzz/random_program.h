#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "choices.h"
#include "tensor/datum.h"

namespace frazil::fuzz {

/// A program in the text of graphs, of loops, branches, and large and small work side by side. Branches and extents
/// depend on an input of zeros and ones, so that every executor takes the same ones. Values of two iterations differ,
/// so that a step that is left out or runs twice shows.
struct RandomProgram {
  std::string text;
  std::string edited;                        ///< the same with one more node in the middle
  std::vector<std::vector<Datum>> requests;  ///< of different extents and branches
};
/// The extents of values and the number of guards of a program.
struct ProgramSizes {
  std::int64_t wide = 128, narrow = 16, ranked = 5000;
  int guards = 2;  ///< at most so many branches whose ranks differ
};
RandomProgram random_program(Choices& choices, const ProgramSizes& sizes = {});

/// A weight that programs name: "w0" to "w2", "u", "d" or "v".
Tensor program_weight(std::string_view name, const ProgramSizes& sizes = {});

}  // namespace frazil::fuzz
