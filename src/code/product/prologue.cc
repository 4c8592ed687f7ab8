#include "code/product/prologue.h"

#include <algorithm>

#include "kernel/contract/float_gemm.h"
#include "tensor/buffer.h"

namespace frazil::code {
namespace {

/// Bytes of a block of rows, so that the product finds it in a cache together with its weight. Blocks are multiples of
/// kPanelRows. A few rows are one block, so that the product reads its weight once.
constexpr std::int64_t kBlockBytes = std::int64_t{1} << 16;
constexpr std::int64_t kFewRows = 4 * kernel::kPanelRows;

std::int64_t block_rows(std::int64_t rows, std::int64_t cols, std::size_t width) {
  if (rows <= kFewRows) return std::max<std::int64_t>(rows, 1);
  const std::int64_t fit = kBlockBytes / static_cast<std::int64_t>(width) / std::max<std::int64_t>(cols, 1);
  return std::clamp<std::int64_t>(rows, 1, std::max(kernel::kPanelRows, fit / kernel::kPanelRows * kernel::kPanelRows));
}

}  // namespace

Status prepare_prologue(Prepare& cx, const PrologueCode& code, void* state, Prologue& p) {
  const OperandShape made = cx.in[0];
  Prepare own = cx;
  own.in = cx.in.subspan(code.operands.first, code.operands.count);
  own.out = {&made, 1};
  own.domain = made.dims;
  own.scratch_bytes = 0;
  auto& tiles = *static_cast<TileState*>(state);
  FRAZIL_CHECK(prepare_tiles(own, code.tiles, tiles, true));
  cx.awaits_code |= own.awaits_code;
  p.code = &code;
  p.state = static_cast<std::size_t>(static_cast<std::byte*>(state) - reinterpret_cast<std::byte*>(&p));
  p.width = byte_size(made.elem);
  p.cols = made.dims.back();
  p.rows = element_count(made.dims.first(made.dims.size() - 1));
  const bool by_rows = p.cols == 0 || has_parts(tiles, p.rows, p.cols);
  p.block = by_rows ? block_rows(p.rows, p.cols, p.width) : std::max<std::int64_t>(p.rows, 1);
  p.scratch = aligned(cx.scratch_bytes);
  p.made = aligned(p.scratch + own.scratch_bytes);
  cx.scratch_bytes = p.made + static_cast<std::size_t>(std::min(p.block, p.rows) * p.cols) * p.width;
  cx.nanoseconds += own.nanoseconds;
  return {};
}

const std::byte* PrologueRun::make(std::int64_t begin, std::int64_t end) const {
  const Prologue& p = prologue_;
  std::byte* const made = worker_.scratch + p.made;
  if (p.cols == 0) return made;
  const auto count = static_cast<int>(p.code->operands.count);
  std::byte* operands[kMaxFusedOperands + 1];
  std::copy_n(call_.in + p.code->operands.first, count, operands);
  operands[count] = made;
  const TileCall own{operands, worker_.scratch + p.scratch};
  if (begin == 0 && end == p.rows) {
    run_tiles(own, p.tiles());
  } else {
    run_tiles(own, p.tiles(), {begin, end, 0, p.cols, p.cols, count});
  }
  return made;
}

}  // namespace frazil::code
