#pragma once

#include <cstddef>
#include <cstdint>

#include "base/stop.h"
#include "exec/kernel_code.h"

namespace frazil {

/// What the step of a product keeps for the program that makes its operand 0 (Step::before), which exists only as a
/// block of rows at a time.
struct Prologue {
  std::int64_t rows = 0, cols = 0;         ///< operand 0 as the product sees it
  std::int64_t block = 0;                  ///< rows at a time; 0: there is no such program
  std::size_t scratch = 0, made = 0;       ///< where in the step's scratch the program's own begins, and the rows
  std::size_t state = 0;                   ///< where its TileState lies, in bytes behind this
  std::uint32_t operands = 0, before = 0;  ///< of the step: how many are the program's, and those in front of them
};

std::size_t prologue_bytes(const Plan& plan, const Step& step);
/// After all else of the step, whose scratch comes first. `state`: where there is room for prologue_bytes().
Status prepare_prologue(PrepareCx& cx, Prologue& prologue, void* state);

/// Runs the program in front of a product, block by block.
class PrologueRun {
 public:
  PrologueRun(const RunCx& cx, const Prologue& prologue) : cx_(cx), prologue_(prologue) {}
  bool exists() const { return prologue_.block != 0; }

  /// multiply(a, begin, end) for rows [begin, end) of all: as if row 0 were at `a`.
  template <class F>
  void for_each_block(F multiply) const {
    const std::int64_t rows = prologue_.rows;
    for (std::int64_t begin = 0; begin < rows && !stop_requested(); begin += prologue_.block) {
      const std::int64_t end = begin + prologue_.block < rows ? begin + prologue_.block : rows;
      multiply(make(begin, end), begin, end);
    }
  }

 private:
  const float* make(std::int64_t begin, std::int64_t end) const;

  const RunCx& cx_;
  const Prologue& prologue_;
};

}  // namespace frazil
