#include "kernel/gemm.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/extents.h"
#include "base/poll_throttle.h"
#include "kernel/aligned.h"
#include "kernel/gemm_isa.h"
#include "kernel/isa.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

constexpr int64_t kRowBlock = 12 * kPanelRows;

void run(const Gemm& g, int64_t begin, int64_t end, const float* packed_b, void* scratch) {
#if defined(__x86_64__)
  switch (current_isa()) {
    case Isa::avx512: return isa_avx512::gemm_run(g, begin, end, packed_b, aligned(scratch));
    case Isa::avx2: return isa_avx2::gemm_run(g, begin, end, packed_b, aligned(scratch));
    case Isa::base: break;
  }
#endif
  isa_base::gemm_run(g, begin, end, packed_b, aligned(scratch));
}

template <class A, class B>
void generic_i8(const GemmI8& g) {
  const A* const a = static_cast<const A*>(g.a);
  const B* const b = static_cast<const B*>(g.b);
  const A* const a_zero = static_cast<const A*>(g.a_zero);
  const B* const b_zero = static_cast<const B*>(g.b_zero);
  constexpr int64_t kCols = 32;
  PollThrottle throttle;
  for (int64_t j0 = 0; j0 < g.n; j0 += kCols) {
    const int64_t cols = std::min(kCols, g.n - j0);
    std::int32_t zero[kCols] = {};
    for (int64_t j = 0; j < cols && b_zero != nullptr; ++j) zero[j] = b_zero[(j0 + j) * g.b_zero_step];
    for (int64_t i = 0; i < g.m; ++i) {
      if (throttle.stop(g.k * cols)) return;
      const std::int32_t az = a_zero != nullptr ? a_zero[i * g.a_zero_step] : 0;
      std::uint32_t acc[kCols] = {};
      for (int64_t p = 0; p < g.k; ++p) {
        const std::int32_t x = a[i * g.a_row + p * g.a_col] - az;
        const B* const row = b + p * g.b_row + j0 * g.b_col;
        if (g.b_col == 1 && cols == kCols) {
          for (int64_t j = 0; j < kCols; ++j) acc[j] += static_cast<std::uint32_t>(x * (row[j] - zero[j]));
        } else {
          for (int64_t j = 0; j < cols; ++j) acc[j] += static_cast<std::uint32_t>(x * (row[j * g.b_col] - zero[j]));
        }
      }
      for (int64_t j = 0; j < cols; ++j) g.c[i * g.c_row + j0 + j] = static_cast<std::int32_t>(acc[j]);
    }
  }
}

}  // namespace

int64_t gemm_scratch_bytes(int64_t m, int64_t n, int64_t k) noexcept {
  if (m <= 0 || n <= 0 || k <= 0) return 0;
  const int64_t depth = std::min(k, kDepthBlock);
  const int64_t floats = depth * (std::min(round_up(n, kPanelCols), kColBlock) + std::min(m, kRowBlock));
  return floats * static_cast<int64_t>(sizeof(float)) + kLineBytes;
}

void gemm(const Gemm& g, void* scratch) noexcept { run(g, 0, g.m, nullptr, scratch); }

void gemm_rows(const Gemm& g, int64_t row_begin, int64_t row_end, void* scratch) noexcept {
  run(g, row_begin, row_end, nullptr, scratch);
}

int64_t gemm_packed_b_bytes(int64_t k, int64_t n) noexcept {
  return std::max<int64_t>(k, 0) * round_up(std::max<int64_t>(n, 0), kPanelCols) * static_cast<int64_t>(sizeof(float));
}

void gemm_pack_b(int64_t k, int64_t n, const float* b, int64_t b_row, int64_t b_col, void* packed) noexcept {
  float* const to = static_cast<float*>(packed);
#if defined(__x86_64__)
  if (current_isa() != Isa::base) return isa_avx2::gemm_pack_cols(k, n, b, b_row, b_col, to, k * kPanelCols);
#endif
  isa_base::gemm_pack_cols(k, n, b, b_row, b_col, to, k * kPanelCols);
}

void gemm_with_packed_b(const Gemm& g, const void* packed_b, void* scratch) noexcept {
  run(g, 0, g.m, static_cast<const float*>(packed_b), scratch);
}

void gemm_with_packed_b_rows(const Gemm& g, const void* packed_b, int64_t row_begin, int64_t row_end,
                             void* scratch) noexcept {
  run(g, row_begin, row_end, static_cast<const float*>(packed_b), scratch);
}

void gemm_i8(const GemmI8& g) noexcept {
  if (g.a_signed) {
    g.b_signed ? generic_i8<std::int8_t, std::int8_t>(g) : generic_i8<std::int8_t, std::uint8_t>(g);
  } else {
    g.b_signed ? generic_i8<std::uint8_t, std::int8_t>(g) : generic_i8<std::uint8_t, std::uint8_t>(g);
  }
}

}  // namespace frazil::kernel
