#pragma once

#include <cstddef>
#include <cstdint>

#include "exec/kernel_code.h"
#include "exec/tile_state.h"
#include "kernel/parts.h"

namespace frazil {

/// What the step of a product keeps for the program that runs on its result. It lies behind the product's own state,
/// and the program's state behind it.
struct Epilogue {
  std::int64_t rows = 0, cols = 0;    ///< the result as the product sees it
  std::size_t scratch = 0;            ///< where in the step's scratch that of the program begins
  std::uint32_t heads = 0, base = 0;  ///< as in Step; no heads: no program
  bool in_parts = false;
};

std::size_t epilogue_bytes(const Plan& plan, const Step& step);
/// A context with the product's own operands only, and with its result as the one output.
PrepareCx product_context(const PrepareCx& cx);
/// After the product, whose scratch comes first. `cols`: elements of a row as the product writes them.
Status prepare_epilogue(PrepareCx& cx, Epilogue& epilogue, std::int64_t cols);

/// Runs the program during one run of a product, or after it.
class EpilogueRun {
 public:
  EpilogueRun(const RunCx& cx, const Epilogue& epilogue);
  /// To be told of parts; null without a program, or where it runs on the whole result only.
  const kernel::Parts* parts() const { return epilogue_.in_parts ? &parts_ : nullptr; }
  /// The rows that the product tells of begin here.
  void at_row(std::int64_t row) { row_ = row; }
  /// Once the product is done: the program, unless it has seen all parts.
  void finish() const;
  /// The same for a result that was changed after the product; parts() must not have been used.
  void run_whole() const;

 private:
  static void on_part(void* self, std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1);
  RunCx tiles_cx() const { return {operands_, operands_ + inputs_, scratch_}; }

  const Epilogue& epilogue_;
  kernel::Parts parts_;
  std::byte* scratch_ = nullptr;
  std::uint32_t inputs_ = 0;
  std::int64_t row_ = 0;
  std::byte* operands_[kMaxTileOperands + kMaxTileResults];
};

}  // namespace frazil
