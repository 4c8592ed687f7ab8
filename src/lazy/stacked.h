#pragma once

#include <span>
#include <vector>

#include "lazy/cone.h"
#include "lazy/program.h"

namespace frazil::lazy {

/// One input of a program for several instances: its value in each of them, or vectors that it has one after the other.
struct Column {
  std::size_t parts = 1;              ///< of one instance
  std::vector<const Output*> values;  ///< by instance, and then by part
};

/// Runs a program once for several instances: `columns` are its inputs. `outputs` have a block per result with the
/// values of all instances stacked, or a whole value where no input differs (`stacked` is then false).
struct StackedResults {
  std::vector<HeldRef> blocks;
  std::vector<const KnownType*> types;  ///< of each instance's value
  bool stacked = true;
};
Result<StackedResults> run_stacked(Program& program, std::span<const Column> columns, std::size_t instances);

/// Result `index` of instance `row`.
void assign(const StackedResults& results, std::size_t index, std::uint32_t row, Output& output);

}  // namespace frazil::lazy
