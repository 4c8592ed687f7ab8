#pragma once

// The functions that gemm exports per instruction set, for gemm.cc and the kernels built on it (conv). This header is
// compiled for several instruction sets: functions defined here have internal linkage.

#include <cstdint>

#include "kernel/contract/gemm.h"
#include "kernel/simd/isa_list.h"

namespace frazil::kernel {

static_assert(kPartCols % kPanelCols == 0);
constexpr std::int64_t kDepthBlock = 256;    ///< maximum steps of k between two updates of C
constexpr std::int64_t kColBlock = 1024;     ///< maximum columns of B packed at a time
constexpr std::int64_t kStreamRows = 48;     ///< up to this many rows read a packed B once, panel after panel
constexpr std::int64_t kStreamDepth = 8192;  ///< maximum k with which all of A is packed for them

namespace {
/// m rows are split into this many panels of nearly equal height; panel p starts at row p * m / row_panels(m).
[[gnu::always_inline]] inline std::int64_t row_panels(std::int64_t m) { return (m + kPanelRows - 1) / kPanelRows; }
/// k is split in the same way; block i starts at i * k / depth_blocks(k).
[[gnu::always_inline]] inline std::int64_t depth_blocks(std::int64_t k) { return (k + kDepthBlock - 1) / kDepthBlock; }
}  // namespace

/// rows x cols of C (+)= A * B over k steps. A is a[r * a_row + i * a_col] with a_row == 1 or a_col == 1;
/// B is b[(j / 32) * b_panel + j % 32 + i * b_row]. Biases may be null. slope as in Gemm.
struct GemmBlock {
  std::int64_t k;
  const float* a;
  std::int64_t a_row, a_col;
  const float* b;
  std::int64_t b_row, b_panel;
  float* c;
  std::int64_t c_row;
  const float* col_bias;
  const float* row_bias;
  const float* col_scale = nullptr;  ///< what the sum with the biases is multiplied by; null: 1
  const float* col_shift = nullptr;  ///< added then; null: 0
  const float* addend = nullptr;     ///< added at the end, with rows `addend_row` apart
  std::int64_t addend_row = 0;
  bool accumulate;
  float slope = 1;
  const float* ahead = nullptr;  ///< cache lines that are read next, brought nearer; null: none
  std::int64_t ahead_lines = 0;  ///< by each tile of the widest kind
};

// gemm_run:       a part of g; packed_b may be null
// gemm_block:     at most kPanelRows rows
// gemm_pack_cols: b[k, n] into panels, each [k][32] and `panel` elements after the one before
// gemm_pack_rows: a[rows, k] into one panel [k][rows]
#define FRAZIL_X(ns)                                                                                                \
  namespace ns {                                                                                                    \
  void gemm_run(const Gemm& g, const GemmPart& part, const float* packed_b, float* scratch) noexcept;               \
  void gemm_block(const GemmBlock& block, std::int64_t rows, std::int64_t cols) noexcept;                           \
  void gemm_pack_cols(std::int64_t k, std::int64_t n, const float* b, std::int64_t b_row, std::int64_t b_col,       \
                      float* packed, std::int64_t panel) noexcept;                                                  \
  void gemm_pack_rows(std::int64_t rows, std::int64_t k, const float* a, std::int64_t a_row, std::int64_t a_col,    \
                      float* packed) noexcept;                                                                      \
  }
FRAZIL_FOR_ISAS(FRAZIL_X)
#undef FRAZIL_X

}  // namespace frazil::kernel
