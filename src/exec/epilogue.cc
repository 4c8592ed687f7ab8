#include "exec/epilogue.h"

#include <algorithm>
#include <array>

#include "exec/tile_state.h"
#include "tensor/buffer.h"

namespace frazil {
namespace {

TileState& tiles_of(Epilogue& e) { return *reinterpret_cast<TileState*>(&e + 1); }
const TileState& tiles_of(const Epilogue& e) { return *reinterpret_cast<const TileState*>(&e + 1); }

}  // namespace

std::size_t epilogue_bytes(const Plan& plan, const Step& step) {
  if (step.program == kNone) return 0;
  const std::size_t operands = step.in.size() - step.heads - step.tails + 1 + step.out.size();
  return sizeof(TileState) + TileArrays::bytes(plan, step, plan.programs[step.program], operands);
}

PrepareCx product_context(const PrepareCx& cx) {
  PrepareCx own = cx;
  if (cx.step.heads == 0) return own;
  own.in = cx.in.first(cx.step.heads);
  own.out = cx.out.subspan(cx.step.base, 1);
  return own;
}

Status prepare_epilogue(PrepareCx& cx, Epilogue& e, std::int64_t cols) {
  e = {.heads = cx.step.program == kNone ? 0 : cx.step.heads, .base = cx.step.base};
  if (e.heads == 0) return {};
  std::array<OperandShape, kMaxTileOperands> in;
  in[0] = cx.out[e.base];
  const auto others = cx.in.subspan(e.heads, cx.in.size() - e.heads - cx.step.tails);
  std::ranges::copy(others, in.begin() + 1);
  PrepareCx own = cx;
  own.in = std::span(in).first(others.size() + 1);
  own.scratch_bytes = 0;
  FRAZIL_CHECK(prepare_tiles(own, cx.plan.programs[cx.step.program], tiles_of(e)));
  e.scratch = aligned(cx.scratch_bytes);
  cx.scratch_bytes = e.scratch + own.scratch_bytes;
  e.cols = cols;
  e.rows = cols == 0 ? 0 : in[0].empty() ? 0 : in[0].count() / cols;
  e.in_parts = has_parts(tiles_of(e), e.rows, e.cols);
  return {};
}

EpilogueRun::EpilogueRun(const RunCx& cx, const Epilogue& e) : epilogue_(e) {
  if (e.heads == 0) return;
  const TileState& s = tiles_of(e);
  inputs_ = s.operands;
  operands_[0] = cx.out[e.base];
  std::copy_n(cx.in + e.heads, s.operands - 1, operands_ + 1);
  std::copy_n(cx.out, s.results, operands_ + s.operands);
  scratch_ = cx.scratch + e.scratch;
  parts_ = {.done = &on_part, .context = this, .whole_rows = s.rows};
}

void EpilogueRun::on_part(void* self, std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1) {
  const auto& run = *static_cast<const EpilogueRun*>(self);
  const Epilogue& e = run.epilogue_;
  row0 += run.row_;
  row1 += run.row_;
  if (row1 - row0 == e.rows && col1 - col0 == e.cols) return run.run_whole();
  run_tiles(run.tiles_cx(), tiles_of(e), {row0, row1, col0, col1, e.cols});
}

void EpilogueRun::finish() const {
  if (epilogue_.heads != 0 && !epilogue_.in_parts) run_whole();
}

void EpilogueRun::run_whole() const {
  if (epilogue_.heads != 0) run_tiles(tiles_cx(), &tiles_of(epilogue_));
}

}  // namespace frazil
