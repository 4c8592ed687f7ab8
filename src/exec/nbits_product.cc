#include <algorithm>

#include "base/stop.h"
#include "exec/codes.h"
#include "kernel/gemm.h"
#include "kernel/nbits.h"

// Products with weights of few bits: some columns are unpacked at a time and meet all rows while they are in a cache.
namespace frazil {
namespace {

constexpr std::int64_t kColumns = 64;

struct NbitsState {
  kernel::Gemm gemm;  ///< of kColumns columns
  kernel::PackedRow row;
  std::int64_t columns = 0, blocks = 0;
  bool packed_zeros = false, real_zeros = false, bias = false;
};

Status prepare_nbits(PrepareCx& cx, void* state) {
  auto& s = *new (state) NbitsState{};
  const auto& ints = cx.step.ints;
  const auto given = [&](std::size_t i) { return i < cx.in.size() && cx.in[i].given; };
  kernel::Gemm& g = s.gemm;
  g.k = ints[0];
  s.columns = ints[1];
  s.row = {.bits = static_cast<int>(ints[2]), .count = g.k, .block = ints[3]};
  s.blocks = (g.k + s.row.block - 1) / s.row.block;
  const auto& a = cx.in[0];
  if (a.dims.back() != g.k) return fail(Code::bad_input, "A has {} columns, K is {}", a.dims.back(), g.k);
  g.m = element_count(a.dims.first(a.dims.size() - 1));
  g.a_row = g.k;
  g.b_row = 1;
  g.b_col = g.k;
  g.c_row = s.columns;
  s.packed_zeros = given(3) && cx.in[3].elem == Elem::u8;
  s.real_zeros = given(3) && !s.packed_zeros;
  s.bias = given(5);
  const std::int64_t zeros = s.real_zeros ? s.blocks : (s.blocks * s.row.bits + 7) / 8;
  const auto has = [&](std::size_t i, std::int64_t per_column) { return cx.in[i].count() == s.columns * per_column; };
  if (!has(1, s.blocks * s.row.block * s.row.bits / 8) || !has(2, s.blocks) || (given(3) && !has(3, zeros)) ||
      (s.bias && !has(5, 1))) {
    return fail(Code::bad_input, "B, scales, zero points and bias do not fit N = {}, K = {}", s.columns, g.k);
  }
  cx.scratch_bytes = static_cast<std::size_t>(kColumns * g.k) * sizeof(float) +
                     static_cast<std::size_t>(kernel::gemm_scratch_bytes(g.m, kColumns, g.k));
  return {};
}

void run_nbits(const RunCx& cx, const void* state) {
  const auto& s = *static_cast<const NbitsState*>(state);
  const auto f32 = [](const std::byte* p) { return reinterpret_cast<const float*>(p); };
  const auto u8 = [](const std::byte* p) { return reinterpret_cast<const std::uint8_t*>(p); };
  kernel::Gemm g = s.gemm;
  if (g.m == 0) return;
  auto* weights = reinterpret_cast<float*>(cx.scratch);
  std::byte* scratch = cx.scratch + static_cast<std::size_t>(kColumns * g.k) * sizeof(float);
  g.a = f32(cx.in[0]);
  g.b = weights;
  for (std::int64_t at = 0; at < s.columns && !stop_requested(); at += kColumns) {
    g.n = std::min(kColumns, s.columns - at);
    for (std::int64_t j = at; j < at + g.n; ++j) {
      kernel::PackedRow row = s.row;
      row.numbers = u8(cx.in[1]) + j * s.blocks * row.block * row.bits / 8;
      row.scales = f32(cx.in[2]) + j * s.blocks;
      if (s.real_zeros) row.zeros = f32(cx.in[3]) + j * s.blocks;
      if (s.packed_zeros) row.packed_zeros = u8(cx.in[3]) + j * ((s.blocks * row.bits + 7) / 8);
      kernel::unpack_row(row, weights + (j - at) * g.k);
    }
    g.c = reinterpret_cast<float*>(cx.out[0]) + at;
    g.bias = s.bias ? f32(cx.in[5]) + at : nullptr;
    kernel::gemm(g, scratch);
  }
}

}  // namespace

const KernelCode kNbitsProductCode{sizeof(NbitsState), &prepare_nbits, &run_nbits};

}  // namespace frazil
