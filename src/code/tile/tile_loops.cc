#include <algorithm>

#include "code/tile/tile_draft.h"

namespace frazil::code {

bool TileShapes::all_dense() const {
  const auto whole = [&](const OperandShape& o) { return o.contiguous && std::ranges::equal(o.dims, cx.domain); };
  return code.in_order && std::ranges::all_of(cx.out, whole) &&
         std::ranges::all_of(cx.in, [&](const OperandShape& o) { return o.count() == 1 || whole(o); });
}

std::int64_t TileShapes::step_of(int k, std::size_t axis) const {
  const OperandShape& o = of(k);
  const int own = code.axis_of(static_cast<std::size_t>(k), axis);
  if (own < 0 || o.dims[static_cast<std::size_t>(own)] == 1) return 0;
  return o.strides[static_cast<std::size_t>(own)] * static_cast<std::int64_t>(byte_size(o.elem));
}

namespace {

/// Returns true if a loop has no iterations. Empty rows alone still have results: those of folds.
bool has_no_loops(std::span<const std::int64_t> domain, bool rows) {
  const auto loops = rows ? domain.first(domain.size() - 1) : domain;
  return std::ranges::find(loops, 0) != loops.end();
}

}  // namespace

Status TileLoops::merge() {
  if (!s_.rows && shapes_.all_dense()) {
    one_loop();
    return {};
  }
  if (has_no_loops(shapes_.cx.domain, s_.rows)) {
    s_.outer = 0;
    return {};
  }
  std::size_t axis = shapes_.cx.domain.size();
  if (axis > 0) {
    s_.inner = shapes_.cx.domain[--axis];
    for (int k = 0; k < s_.count(); ++k) draft_.operands[k].inner_step = shapes_.step_of(k, axis);
  }
  bool open = !s_.rows;  // the innermost loop can take more axes
  while (axis-- > 0) {
    const std::int64_t extent = shapes_.cx.domain[axis];
    if (extent == 1) continue;
    if (open && merges_inner(axis)) {
      widen_inner(axis);
      continue;
    }
    open = false;
    if (merges_outer(axis)) {
      draft_.extents[s_.rank - 1] *= extent;
      continue;
    }
    FRAZIL_CHECK(add_outer(axis));
  }
  for (int a = 0; a < s_.rank; ++a) s_.outer *= draft_.extents[a];
  return {};
}

void TileLoops::one_loop() {
  s_.dense = true;
  const bool empty = std::ranges::find(shapes_.cx.domain, 0) != shapes_.cx.domain.end();
  s_.inner = empty ? 0 : element_count(shapes_.cx.domain);
  for (int k = 0; k < s_.count(); ++k) {
    TileOperand& o = draft_.operands[k];
    o.inner_step = k < s_.operands && s_.inner > 1 && shapes_.of(k).count() == 1 ? 0 : o.size;
  }
}

bool TileLoops::merges_inner(std::size_t axis) const {
  if (s_.inner == 1) return true;
  for (int k = 0; k < s_.count(); ++k) {
    if (shapes_.step_of(k, axis) != draft_.operands[k].inner_step * s_.inner) return false;
  }
  return true;
}

void TileLoops::widen_inner(std::size_t axis) {
  for (int k = 0; k < s_.count() && s_.inner == 1; ++k) draft_.operands[k].inner_step = shapes_.step_of(k, axis);
  s_.inner *= shapes_.cx.domain[axis];
}

bool TileLoops::merges_outer(std::size_t axis) const {
  if (s_.rank == 0) return false;
  const int last = s_.rank - 1;
  for (int k = 0; k < s_.count(); ++k) {
    if (shapes_.step_of(k, axis) != draft_.steps[last][k] * draft_.extents[last]) return false;
  }
  return true;
}

Status TileLoops::add_outer(std::size_t axis) {
  if (s_.rank == kMaxTileLoops) {
    return fail(Code::limit, "its operands need more than {} nested loops", kMaxTileLoops + 1);
  }
  draft_.extents[s_.rank] = shapes_.cx.domain[axis];
  for (int k = 0; k < s_.count(); ++k) draft_.steps[s_.rank][k] = shapes_.step_of(k, axis);
  ++s_.rank;
  return {};
}

}  // namespace frazil::code
