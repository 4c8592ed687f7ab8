#include "exec/prologue.h"

#include <algorithm>

#include "exec/tile_state.h"
#include "kernel/gemm.h"
#include "tensor/buffer.h"

namespace frazil {
namespace {

/// Rows are made this many bytes at a time, so that the product finds them in a cache beside its weight, and in
/// multiples of kPanelRows.
constexpr std::int64_t kBlockBytes = std::int64_t{1} << 16;

std::int64_t block_rows(std::int64_t rows, std::int64_t cols) {
  const std::int64_t fit = kBlockBytes / static_cast<std::int64_t>(sizeof(float)) / std::max<std::int64_t>(cols, 1);
  return std::clamp<std::int64_t>(rows, 1, std::max(kernel::kPanelRows, fit / kernel::kPanelRows * kernel::kPanelRows));
}

}  // namespace

std::size_t prologue_bytes(const Plan& plan, const Step& step) {
  if (step.before == kNone) return 0;
  return sizeof(TileState) + TileArrays::bytes(plan, step, plan.programs[step.before], step.tails + 1);
}

Status prepare_prologue(PrepareCx& cx, Prologue& p, void* state) {
  if (cx.step.before == kNone) return {};
  const OperandShape made = cx.in[0];
  PrepareCx own = cx;
  own.in = cx.in.last(cx.step.tails);
  own.out = {&made, 1};
  own.space = made.dims;
  own.scratch_bytes = 0;
  auto& tiles = *static_cast<TileState*>(state);
  FRAZIL_CHECK(prepare_tiles(own, cx.plan.programs[cx.step.before], tiles));
  p.state = static_cast<std::size_t>(static_cast<std::byte*>(state) - reinterpret_cast<std::byte*>(&p));
  p.operands = cx.step.tails;
  p.before = static_cast<std::uint32_t>(cx.in.size()) - cx.step.tails;
  p.cols = made.dims.back();
  p.rows = element_count(made.dims.first(made.dims.size() - 1));
  const bool by_rows = p.cols == 0 || has_parts(tiles, p.rows, p.cols);
  p.block = by_rows ? block_rows(p.rows, p.cols) : std::max<std::int64_t>(p.rows, 1);
  p.scratch = aligned(cx.scratch_bytes);
  p.made = aligned(p.scratch + own.scratch_bytes);
  cx.scratch_bytes = p.made + static_cast<std::size_t>(std::min(p.block, p.rows) * p.cols) * sizeof(float);
  return {};
}

const float* PrologueRun::make(std::int64_t begin, std::int64_t end) const {
  const Prologue& p = prologue_;
  // As if the rows in front of `begin` were there, too: the program and the product count from row 0.
  std::byte* const all = cx_.scratch + p.made - static_cast<std::size_t>(begin * p.cols) * sizeof(float);
  if (p.cols == 0) return reinterpret_cast<const float*>(all);
  std::byte* operands[kMaxTileOperands + 1];
  std::copy_n(cx_.in + p.before, p.operands, operands);
  operands[p.operands] = all;
  const auto& tiles = *reinterpret_cast<const TileState*>(reinterpret_cast<const std::byte*>(&p) + p.state);
  const RunCx own{operands, operands + p.operands, cx_.scratch + p.scratch};
  if (begin == 0 && end == p.rows) {
    run_tiles(own, &tiles);
  } else {
    run_tiles(own, tiles, {begin, end, 0, p.cols, p.cols});
  }
  return reinterpret_cast<const float*>(all);
}

}  // namespace frazil
