#include "base/poll_throttle.h"
#include "kernel/gemm_i8_isa.h"

// Compiled once per instruction set; the including file sets FRAZIL_ISA_NS.
namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

using std::int64_t;

constexpr int64_t kCols = 64;  ///< of C at once: their sums stay in registers or L1

/// Columns [first, first + cols) of row i of C.
template <class A, class B>
void row_part(const GemmCall& g, int64_t i, int64_t first, int64_t cols, const std::int32_t* zero) {
  const A* const a = static_cast<const A*>(g.a) + i * g.a_row;
  const B* b = static_cast<const B*>(g.b) + first * g.b_col;
  const A* const a_zero = static_cast<const A*>(g.a_zero);
  const std::int32_t az = a_zero != nullptr ? a_zero[i * g.a_zero_step] : 0;
  std::uint32_t sums[kCols] = {};
  for (int64_t p = 0; p < g.k; ++p, b += g.b_row) {
    const std::int32_t x = a[p * g.a_col] - az;
    if (g.b_col == 1 && cols == kCols) {
      for (int64_t j = 0; j < kCols; ++j) sums[j] += static_cast<std::uint32_t>(x * (b[j] - zero[j]));
    } else {
      for (int64_t j = 0; j < cols; ++j) sums[j] += static_cast<std::uint32_t>(x * (b[j * g.b_col] - zero[j]));
    }
  }
  auto* const c = static_cast<std::int32_t*>(g.c) + i * g.c_row + first;
  for (int64_t j = 0; j < cols; ++j) c[j] = static_cast<std::int32_t>(sums[j]);
}

template <class A, class B>
void rows_of(const GemmCall& g, int64_t begin, int64_t end) {
  const B* const b_zero = static_cast<const B*>(g.b_zero);
  PollThrottle throttle;
  for (int64_t first = 0; first < g.n; first += kCols) {
    const int64_t cols = g.n - first < kCols ? g.n - first : kCols;
    std::int32_t zero[kCols] = {};
    for (int64_t j = 0; j < cols && b_zero != nullptr; ++j) zero[j] = b_zero[(first + j) * g.b_zero_step];
    for (int64_t i = begin; i < end; ++i) {
      if (throttle.stop(g.k * cols)) return;
      row_part<A, B>(g, i, first, cols, zero);
    }
  }
}

}  // namespace

void gemm_i8_rows(const GemmCall& g, bool signed_a, bool signed_b, int64_t begin, int64_t end) noexcept {
  if (signed_a) {
    signed_b ? rows_of<std::int8_t, std::int8_t>(g, begin, end) : rows_of<std::int8_t, std::uint8_t>(g, begin, end);
  } else {
    signed_b ? rows_of<std::uint8_t, std::int8_t>(g, begin, end) : rows_of<std::uint8_t, std::uint8_t>(g, begin, end);
  }
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
