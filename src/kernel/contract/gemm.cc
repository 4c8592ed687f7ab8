#include "kernel/contract/gemm.h"

#include <algorithm>
#include <cstdint>

#include "base/extents.h"
#include "kernel/contract/gemm.simd.h"
#include "kernel/simd/aligned.h"
#include "kernel/simd/isa.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

constexpr int64_t kRowBlock = 12 * kPanelRows;

void run(const Gemm& g, const GemmPart& part, const float* packed_b, void* scratch) {
  FRAZIL_DISPATCH(gemm_run(g, part, packed_b, aligned(scratch)));
}

}  // namespace

int64_t gemm_scratch_bytes(int64_t m, int64_t n, int64_t k) noexcept {
  if (m <= 0 || n <= 0 || k <= 0) return 0;
  const int64_t depth = std::min(k, kDepthBlock);
  const int64_t blocks = depth * (std::min(round_up(n, kPanelCols), kColBlock) + std::min(m, kRowBlock));
  const int64_t floats = std::max(blocks, std::min(m, kStreamRows) * std::min(k, kStreamDepth));
  return floats * static_cast<int64_t>(sizeof(float)) + kLineBytes;
}

void gemm(const Gemm& g, void* scratch) noexcept { run(g, {0, g.m, 0, g.n}, nullptr, scratch); }

void gemm_rows(const Gemm& g, int64_t row_begin, int64_t row_end, void* scratch) noexcept {
  run(g, {row_begin, row_end, 0, g.n}, nullptr, scratch);
}

int64_t gemm_packed_b_bytes(int64_t k, int64_t n) noexcept {
  return std::max<int64_t>(k, 0) * round_up(std::max<int64_t>(n, 0), kPanelCols) * static_cast<int64_t>(sizeof(float));
}

void gemm_pack_b(int64_t k, int64_t n, const float* b, int64_t b_row, int64_t b_col, void* packed) noexcept {
  float* const to = static_cast<float*>(packed);
  FRAZIL_DISPATCH(gemm_pack_cols(k, n, b, b_row, b_col, to, k * kPanelCols));
}

void gemm_with_packed_b(const Gemm& g, const void* packed_b, void* scratch) noexcept {
  run(g, {0, g.m, 0, g.n}, static_cast<const float*>(packed_b), scratch);
}

void gemm_with_packed_b_rows(const Gemm& g, const void* packed_b, int64_t row_begin, int64_t row_end,
                             void* scratch) noexcept {
  run(g, {row_begin, row_end, 0, g.n}, static_cast<const float*>(packed_b), scratch);
}

void gemm_part(const Gemm& g, const void* packed_b, const GemmPart& part, void* scratch) noexcept {
  run(g, part, static_cast<const float*>(packed_b), scratch);
}

}  // namespace frazil::kernel
