#include <algorithm>
#include <cstring>

#include "base/thread/poll_throttle.h"
#include "kernel/contract/float_gemm.h"
#include "kernel/move/copy.h"
#include "kernel/window/conv.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

constexpr int64_t kRowsAtOnce = 48;

int64_t depth_of(const ConvParams& p) { return p.in_c * p.kernel_h * p.kernel_w; }

/// Returns the number of batch items per product.
int64_t items_at_once(const ConvParams& p) {
  return std::clamp<int64_t>(kRowsAtOnce / std::max<int64_t>(p.out_h * p.out_w, 1), 1, std::max<int64_t>(p.batch, 1));
}

/// Copies the input of one kernel row, starting at column `ix`.
void put_run(const ConvParams& p, const float* line, int64_t ix, float* to) {
  if (p.dilation_w == 1 && ix >= 0 && ix + p.kernel_w <= p.in_w) {
    for (int64_t s = 0; s < p.kernel_w; ++s) to[s] = line[ix + s];
    return;
  }
  for (int64_t s = 0; s < p.kernel_w; ++s, ix += p.dilation_w) to[s] = ix >= 0 && ix < p.in_w ? line[ix] : 0.f;
}

/// Copies the input of the kernel at one output position, in the order of the weights.
void put_row(const ConvParams& p, const float* x, int64_t oy, int64_t ox, float* to) {
  const int64_t ix = ox * p.stride_w - p.pad_left;
  for (int64_t c = 0; c < p.in_c; ++c, x += p.in_h * p.in_w) {
    for (int64_t r = 0; r < p.kernel_h; ++r, to += p.kernel_w) {
      const int64_t iy = oy * p.stride_h - p.pad_top + r * p.dilation_h;
      if (iy < 0 || iy >= p.in_h) {
        std::fill_n(to, p.kernel_w, 0.f);
      } else {
        put_run(p, x + iy * p.in_w, ix, to);
      }
    }
  }
}

}  // namespace

bool conv_has_few_positions(const ConvParams& p) noexcept {
  constexpr int64_t kFew = 8, kChannels = 32;
  return p.groups == 1 && p.out_h * p.out_w <= kFew && p.out_c >= kChannels && depth_of(p) > 0;
}

int64_t conv_rows_packed_w_bytes(const ConvParams& p) noexcept {
  return static_cast<int64_t>(packed_b_bytes(Elem::f32, depth_of(p), p.out_c));
}

void conv_rows_pack_w(const ConvParams& p, const float* w, void* packed) noexcept {
  pack_b(Elem::f32, depth_of(p), p.out_c, w, 1, depth_of(p), packed);
}

int64_t conv_rows_scratch_bytes(const ConvParams& p) noexcept {
  const int64_t rows = items_at_once(p) * p.out_h * p.out_w, depth = depth_of(p);
  return rows * (depth + p.out_c) * static_cast<int64_t>(sizeof(float)) +
         static_cast<int64_t>(float_gemm_scratch(Elem::f32, rows, p.out_c, depth));
}

void conv_rows(const ConvParams& p, const float* x, const void* packed_w, const float* bias, float* y, void* scratch,
               const TileCallback* on_tile) noexcept {
  const int64_t positions = p.out_h * p.out_w, depth = depth_of(p), items = items_at_once(p);
  float* const rows = static_cast<float*>(scratch);
  float* const sums = rows + items * positions * depth;
  GemmCall g;
  g.n = p.out_c, g.k = depth;
  g.a = rows, g.a_row = depth;
  g.c = sums, g.c_row = p.out_c;
  g.bias = bias;
  g.packed_b = packed_w;
  const int64_t dims[] = {p.out_c, positions}, to[] = {positions, 1}, from[] = {1, p.out_c};
  for (int64_t first = 0; first < p.batch && !stop_requested(); first += items) {
    const int64_t end = std::min(p.batch, first + items);
    float* row = rows;
    for (int64_t item = first; item < end; ++item) {
      for (int64_t at = 0; at < positions; ++at, row += depth)
        put_row(p, x + item * p.in_c * p.in_h * p.in_w, at / p.out_w, at % p.out_w, row);
    }
    g.m = (end - first) * positions;
    gemm(g, sums + items * positions * p.out_c);
    for (int64_t item = first; item < end; ++item) {
      copy_strided(y + item * p.out_c * positions, to, sums + (item - first) * positions * p.out_c, from, dims,
                   sizeof(float));
    }
    if (on_tile != nullptr) (*on_tile)(first* p.out_c, end* p.out_c, 0, positions);
  }
}

}  // namespace frazil::kernel
