#include <algorithm>

#include "base/stop.h"
#include "exec/batches.h"
#include "exec/codes.h"
#include "exec/product_code.h"
#include "kernel/gemm.h"

namespace frazil {
namespace {

float* f32(std::byte* p) { return reinterpret_cast<float*>(p); }

struct MatMulState {
  kernel::Gemm gemm;
  const std::byte* packed = nullptr;
  Batches batches;
  bool bias = false;  ///< operand 2
};

/// A constant B is packed once and kept where more than one row meets it, or the packed form stays in a core's cache:
/// there, reading the weight where its file has it, across the borders of cache lines, costs twice as much.
Result<const std::byte*> pack(PrepareCx& cx, const kernel::Gemm& g, std::size_t operand) {
  constexpr std::size_t kNear = std::size_t{3} << 19;
  const std::byte* weight = cx.constants[operand];
  if (weight == nullptr || g.n * g.k < 1024) return nullptr;
  const auto bytes = static_cast<std::size_t>(kernel::gemm_packed_b_bytes(g.k, g.n));
  if (g.m < 2 && (bytes > kNear || bytes / 2 > cx.in[operand].bytes())) return nullptr;
  const std::string format = fmt::format("gemm {} {} {} {}", g.k, g.n, g.b_row, g.b_col);
  return cx.packs.get({weight, cx.in[operand].bytes()}, format, bytes, [&](std::byte* to) {
    kernel::gemm_pack_b(g.k, g.n, reinterpret_cast<const float*>(weight), g.b_row, g.b_col, to);
  });
}

/// True when the axes before the last two can be walked as one with the one behind them.
bool rows_are_even(const OperandShape& a) {
  for (std::size_t i = 0; i + 2 < a.dims.size(); ++i) {
    if (a.strides[i] != a.strides[i + 1] * a.dims[i + 1]) return false;
  }
  return true;
}

Status prepare_matmul(PrepareCx& cx, MatMulState& s) {
  const auto &a = cx.in[0], &b = cx.in[1];
  const std::size_t ra = a.dims.size(), rb = b.dims.size();
  kernel::Gemm& g = s.gemm;
  read_matrices(g, a, b);
  g.c_row = g.n;
  if (!cx.step.reals.empty()) g.slope = cx.step.reals[0];
  s.bias = cx.in.size() > 2;
  if (rb == 2 && ra > 2 && rows_are_even(a)) {  // all rows of all batches meet the same B
    for (std::size_t i = 0; i + 2 < ra; ++i) g.m *= a.dims[i];
  } else {
    FRAZIL_CHECK(s.batches.prepare(a, b));
  }
  if (rb == 2) {
    FRAZIL_TRY(s.packed, pack(cx, g, 1));
  }
  cx.scratch_bytes = static_cast<std::size_t>(kernel::gemm_scratch_bytes(g.m, g.n, g.k));
  return {};
}

void multiply(kernel::Gemm& g, const std::byte* packed, const PrologueRun& prologue, std::byte* scratch) {
  if (prologue.exists()) {
    prologue.for_each_block([&](const float* a, std::int64_t begin, std::int64_t end) {
      g.a = a;
      if (packed != nullptr)
        kernel::gemm_with_packed_b_rows(g, packed, begin, end, scratch);
      else
        kernel::gemm_rows(g, begin, end, scratch);
    });
  } else if (packed != nullptr) {
    kernel::gemm_with_packed_b(g, packed, scratch);
  } else {
    kernel::gemm(g, scratch);
  }
}

void run_matmul(const RunCx& cx, const MatMulState& s, const PrologueRun& prologue, EpilogueRun& epilogue) {
  kernel::Gemm g = s.gemm;
  g.parts = epilogue.parts();
  if (s.bias) g.bias = f32(cx.in[2]);
  s.batches.for_each([&](std::int64_t batch, std::int64_t a, std::int64_t b) {
    g.a = f32(cx.in[0]) + a;
    g.b = f32(cx.in[1]) + b;
    g.c = f32(cx.out[0]) + batch * g.m * g.n;
    epilogue.at_row(batch * g.m);
    multiply(g, s.packed, prologue, cx.scratch);
    return !stop_requested();
  });
  epilogue.finish();
}

struct GemmState {
  kernel::Gemm gemm;
  const std::byte* packed = nullptr;
  float alpha = 1, beta = 1, slope = 1;
  std::int64_t c_row = 0, c_col = 0;  ///< steps of the addend; 0 where it repeats
  bool bias = false, add = false;
};

Status prepare_gemm(PrepareCx& cx, GemmState& s) {
  const bool ta = cx.step.ints[0] != 0, tb = cx.step.ints[1] != 0;
  const auto &a = cx.in[0], &b = cx.in[1];
  kernel::Gemm& g = s.gemm;
  g.m = a.dims[ta ? 1 : 0];
  g.k = a.dims[ta ? 0 : 1];
  g.n = b.dims[tb ? 0 : 1];
  g.a_row = ta ? 1 : a.dims[1];
  g.a_col = ta ? a.dims[1] : 1;
  g.b_row = tb ? 1 : b.dims[1];
  g.b_col = tb ? b.dims[1] : 1;
  g.c_row = g.n;
  s.alpha = cx.step.reals[0];
  s.beta = cx.step.reals[1];
  if (cx.step.reals.size() > 2) s.slope = cx.step.reals[2];
  const bool given = cx.in.size() > 2 && cx.in[2].given;
  if (given && s.beta != 0) {
    const auto& c = cx.in[2];
    const std::size_t rank = c.dims.size();
    const std::int64_t cols = rank > 0 ? c.dims[rank - 1] : 1, rows = rank > 1 ? c.dims[rank - 2] : 1;
    if ((cols != 1 && cols != g.n) || (rows != 1 && rows != g.m)) {
      return fail(Code::bad_input, "input C of {}x{} does not broadcast to {}x{}", rows, cols, g.m, g.n);
    }
    s.c_col = cols == 1 ? 0 : 1;
    s.c_row = rows == 1 ? 0 : cols;
    s.bias = s.alpha == 1 && s.beta == 1 && rows == 1 && cols == g.n;
    s.add = !s.bias;
  }
  FRAZIL_TRY(s.packed, pack(cx, g, 1));
  cx.scratch_bytes = static_cast<std::size_t>(kernel::gemm_scratch_bytes(g.m, g.n, g.k));
  return {};
}

void run_gemm(const RunCx& cx, const GemmState& s, const PrologueRun& prologue, EpilogueRun& epilogue) {
  kernel::Gemm g = s.gemm;
  g.a = f32(cx.in[0]);
  g.b = f32(cx.in[1]);
  g.c = f32(cx.out[0]);
  g.bias = s.bias ? f32(cx.in[2]) : nullptr;
  const bool plain = s.alpha == 1 && !s.add;
  if (plain) g.slope = s.slope;
  g.parts = plain ? epilogue.parts() : nullptr;
  multiply(g, s.packed, prologue, cx.scratch);
  if (plain) return epilogue.finish();
  Pace pace;
  for (std::int64_t i = 0; i < g.m && !pace.stop(g.n); ++i) {
    float* row = g.c + i * g.c_row;
    const float* addend = s.add ? f32(cx.in[2]) + i * s.c_row : nullptr;
    for (std::int64_t j = 0; j < g.n; ++j) {
      const float sum = s.alpha * row[j] + (addend ? s.beta * addend[j * s.c_col] : 0.0f);
      row[j] = kernel::bent(sum, s.slope);
    }
  }
  epilogue.run_whole();
}

template <class S>
std::int64_t columns(const S& s) {
  return s.gemm.n;
}

}  // namespace

const KernelCode kMatMulCode = ProductCode<MatMulState, prepare_matmul, columns, run_matmul>::kCode;
const KernelCode kGemmCode = ProductCode<GemmState, prepare_gemm, columns, run_gemm>::kCode;

}  // namespace frazil
