#pragma once

// What channels-last convolutions share: the positions of rows of y, and what happens to their columns. For translation
// units of one instruction set, as math_lanes.h.

#include "kernel/contract/conv_nhwc.simd.h"
#include "kernel/simd/f32_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

/// An output position of a plane.
struct Position {
  int64_t item, y, x;
};
FRAZIL_INLINE Position position(const NhwcRun& r, int64_t plane, int64_t row) {
  const int64_t w = r.p.out_w, area = r.p.out_h * w, at = plane * r.shape.plane_rows + row;
  return {at / area, at % area / w, at % w};
}
FRAZIL_INLINE void next(const NhwcRun& r, Position& at) {
  if (++at.x < r.p.out_w) return;
  at.x = 0;
  if (++at.y < r.p.out_h) return;
  at.y = 0;
  ++at.item;
}

FRAZIL_INLINE void set_columns(GemmBlock& block, const NhwcColumns& columns, int64_t col) {
  const auto from = [&](const float* p) { return p != nullptr ? p + col : p; };
  block.col_bias = from(columns.bias);
  block.col_scale = from(columns.scale);
  block.col_shift = from(columns.shift);
}

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS
