#include "code/product/epilogue.h"

#include <algorithm>
#include <array>

#include "tensor/buffer.h"

namespace frazil::code {

Status prepare_epilogue(Prepare& cx, const EpilogueCode& code, const OperandShape& made, std::int64_t cols, void* state,
                        Epilogue& e) {
  e.code = &code;
  e.state = static_cast<std::size_t>(static_cast<std::byte*>(state) - reinterpret_cast<std::byte*>(&e));
  std::array<OperandShape, kMaxFusedOperands + 1> in;
  in[0] = made;
  std::ranges::copy(cx.in.subspan(code.operands.first, code.operands.count), in.begin() + 1);
  Prepare own = cx;
  own.in = std::span(in).first(code.operands.count + 1);
  own.scratch_bytes = 0;
  auto& tiles = *static_cast<TileState*>(state);
  FRAZIL_CHECK(prepare_tiles(own, code.tiles, tiles, true));
  e.scratch = aligned(cx.scratch_bytes);
  cx.scratch_bytes = e.scratch + own.scratch_bytes;
  cx.nanoseconds += own.nanoseconds;
  cx.awaits_code |= own.awaits_code;
  e.cols = cols;
  e.rows = cols == 0 || in[0].empty() ? 0 : in[0].count() / cols;
  e.by_tiles = has_parts(tiles, e.rows, e.cols);
  return {};
}

EpilogueRun::EpilogueRun(const Call& call, const Worker& worker, const Epilogue& e, std::byte* made, bool later)
    : epilogue_(e), by_tiles_(e.by_tiles && !later) {
  if (e.code == nullptr) return;
  const TileState& s = e.tiles();
  operands_[0] = made;
  std::copy_n(call.in + e.code->operands.first, s.operands - 1, operands_ + 1);
  std::copy_n(call.out, s.results, operands_ + s.operands);
  scratch_ = worker.scratch + e.scratch;
  on_tile_ = {.done = &tile_done, .context = this, .whole_rows = s.rows};
  if (made == nullptr) on_tile_.result = &passed_;
}

void EpilogueRun::tile_done(void* self, std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1) {
  auto& run = *static_cast<EpilogueRun*>(self);
  TilePart part{row0 + run.row_, row1 + run.row_, col0, col1, run.epilogue_.cols};
  if (run.on_tile_.result != nullptr) {
    run.operands_[0] = static_cast<std::byte*>(run.passed_);
    part.partial = 0;
  }
  run.run(part);
}

void EpilogueRun::run(const TilePart& part) const {
  const TileCall call{operands_, scratch_};
  const bool whole = part.row1 - part.row0 == epilogue_.rows && part.col1 - part.col0 == epilogue_.cols;
  if (whole) return run_tiles(call, epilogue_.tiles());
  run_tiles(call, epilogue_.tiles(), part);
}

void EpilogueRun::finish() const { run_tiles({operands_, scratch_}, epilogue_.tiles()); }

void EpilogueRun::run_part(std::int64_t row0, std::int64_t row1, std::int64_t col0, std::int64_t col1) const {
  if (by_tiles_) run({row0, row1, col0, col1, epilogue_.cols});
}

void EpilogueRun::run_rows(std::int64_t begin, std::int64_t end) const {
  run({begin, end, 0, epilogue_.cols, epilogue_.cols});
}

}  // namespace frazil::code
