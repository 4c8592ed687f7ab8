#include <algorithm>

#include "base/thread/poll_throttle.h"
#include "code/entries.h"
#include "kernel/contract/float_gemm.h"
#include "kernel/contract/nbits.h"

// Products with weights of few bits. A few rows are multiplied with the weights in place, if there is a kernel for
// that. Otherwise some columns are unpacked at a time, and multiplied with all rows while they are in a cache.
namespace frazil::code {
namespace {

constexpr std::int64_t kColumns = 64;  ///< columns of a unit
constexpr std::int64_t kMaxDirectRows = 64;

struct State {
  kernel::GemmCall gemm;  ///< a product of kColumns columns
  kernel::PackedRow row;
  std::int64_t columns = 0, blocks = 0;
  bool packed_zeros = false, real_zeros = false, bias = false;
  bool direct = false;  ///< weights are read in place
};

Status prepare(Prepare& cx, const params::MatMulNBits& p, State& s) {
  const auto given = [&](std::size_t i) { return i < cx.in.size() && cx.in[i].given; };
  kernel::GemmCall& g = s.gemm;
  g.k = p.k;
  s.columns = p.n;
  s.row = {.bits = static_cast<int>(p.bits), .count = g.k, .block = p.block};
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
  s.direct = g.m <= kMaxDirectRows && kernel::has_nbits_product(s.row);
  cx.scratch_bytes =
      s.direct ? static_cast<std::size_t>(kernel::nbits_arranged(g.m, g.k) + kernel::nbits_scratch_floats(s.row)) *
                     sizeof(float)
               : static_cast<std::size_t>(kColumns * g.k) * sizeof(float) +
                     kernel::float_gemm_scratch(Elem::f32, g.m, kColumns, g.k);
  cx.units = ceil_div(s.columns, kColumns);
  cx.nanoseconds = static_cast<double>(s.columns) * static_cast<double>(g.k) *
                   ((s.direct ? 0.02 : 0.5) + (s.direct ? 0.01 : 0.02) * static_cast<double>(g.m));
  return {};
}

/// Returns the packed columns of a call from column `first` on.
kernel::PackedRow columns_from(const Call& call, const State& s, std::int64_t first) {
  kernel::PackedRow row = s.row;
  row.numbers = as<std::uint8_t>(call.in[1]) + first * s.blocks * row.block * row.bits / 8;
  row.scales = as(call.in[2]) + first * s.blocks;
  if (s.real_zeros) row.zeros = as(call.in[3]) + first * s.blocks;
  if (s.packed_zeros) row.packed_zeros = as<std::uint8_t>(call.in[3]) + first * ((s.blocks * row.bits + 7) / 8);
  return row;
}

void run_direct(const Call& call, const Worker& worker, const State& s, std::int64_t begin, std::int64_t end) {
  const kernel::NBitsProduct product{.column = columns_from(call, s, 0),
                                     .m = s.gemm.m,
                                     .n = s.columns,
                                     .bias = s.bias ? as(call.in[5]) : nullptr,
                                     .c = as(call.out[0]),
                                     .c_row = s.columns};
  float* const arranged = as(worker.scratch);
  kernel::nbits_arrange(as(call.in[0]), product.m, s.gemm.k, arranged);
  kernel::nbits_product(product, arranged, begin * kColumns, std::min(s.columns, end * kColumns),
                        arranged + kernel::nbits_arranged(product.m, s.gemm.k));
}

void run(const Call& call, const Worker& worker, const State& s, std::int64_t begin, std::int64_t end) {
  kernel::GemmCall g = s.gemm;
  if (g.m == 0) return;
  if (s.direct) return run_direct(call, worker, s, begin, end);
  auto* weights = as(worker.scratch);
  std::byte* scratch = worker.scratch + static_cast<std::size_t>(kColumns * g.k) * sizeof(float);
  g.a = as(call.in[0]);
  g.b = weights;
  for (std::int64_t at = begin * kColumns; at < std::min(s.columns, end * kColumns) && !stop_requested();
       at += kColumns) {
    g.n = std::min(kColumns, s.columns - at);
    for (std::int64_t j = at; j < at + g.n; ++j) {
      kernel::unpack_row(columns_from(call, s, j), weights + (j - at) * g.k);
    }
    g.c = as(call.out[0]) + at;
    g.bias = s.bias ? as(call.in[5]) + at : nullptr;
    kernel::gemm(g, scratch);
  }
}

}  // namespace

KernelEntry entry_of(const params::MatMulNBits& p) { return make_entry<params::MatMulNBits, State, prepare, run>(p); }

}  // namespace frazil::code
