#include <algorithm>

#include "base/stop.h"
#include "exec/codes.h"
#include "exec/epilogue.h"
#include "kernel/gemm.h"

namespace frazil {
namespace {

constexpr int kMaxBatchAxes = 8;

float* f32(std::byte* p) { return reinterpret_cast<float*>(p); }

/// One product per batch; operands without a batch axis repeat.
struct MatMulState {
  kernel::Gemm gemm;
  const std::byte* packed = nullptr;
  int axes = 0;
  std::int64_t batches = 1;
  std::int64_t extents[kMaxBatchAxes] = {};
  std::int64_t a_step[kMaxBatchAxes] = {}, b_step[kMaxBatchAxes] = {};  ///< elements
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

/// Batch axes, right to left, with the steps of each operand.
Status batch_axes(MatMulState& s, const OperandShape& a, const OperandShape& b) {
  const auto axes_of = [](const OperandShape& o) {
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(o.dims.size()) - 2);
  };
  const std::int64_t rank = std::max(axes_of(a), axes_of(b));
  if (rank > kMaxBatchAxes) return fail(Code::unsupported, "more than {} batch axes", kMaxBatchAxes);
  for (std::int64_t i = 0; i < rank; ++i) {
    auto read = [&](const OperandShape& o, std::int64_t& extent) -> std::int64_t {
      const std::int64_t at = axes_of(o) - 1 - i;
      extent = at < 0 ? 1 : o.dims[static_cast<std::size_t>(at)];
      return extent == 1 ? 0 : o.strides[static_cast<std::size_t>(at)];
    };
    std::int64_t ea = 1, eb = 1;
    s.a_step[i] = read(a, ea);
    s.b_step[i] = read(b, eb);
    if (ea != eb && ea != 1 && eb != 1)
      return fail(Code::bad_input, "batch extents {} and {} do not broadcast", ea, eb);
    s.extents[i] = ea == 1 ? eb : ea;
    s.batches *= s.extents[i];
  }
  s.axes = static_cast<int>(rank);
  return {};
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
  g.m = ra > 1 ? a.dims[ra - 2] : 1;
  g.k = a.dims[ra - 1];
  g.n = rb > 1 ? b.dims[rb - 1] : 1;
  g.a_row = ra > 1 ? a.strides[ra - 2] : 0;
  g.a_col = a.strides[ra - 1];
  g.b_row = rb > 1 ? b.strides[rb - 2] : b.strides[0];
  g.b_col = rb > 1 ? b.strides[rb - 1] : 1;
  g.c_row = g.n;
  if (rb == 2 && ra > 2 && rows_are_even(a)) {  // all rows of all batches meet the same B
    for (std::size_t i = 0; i + 2 < ra; ++i) g.m *= a.dims[i];
  } else {
    FRAZIL_CHECK(batch_axes(s, a, b));
  }
  if (rb == 2) {
    FRAZIL_TRY(s.packed, pack(cx, g, 1));
  }
  cx.scratch_bytes = static_cast<std::size_t>(kernel::gemm_scratch_bytes(g.m, g.n, g.k));
  return {};
}

void multiply(const kernel::Gemm& g, const std::byte* packed, std::byte* scratch) {
  if (packed != nullptr)
    kernel::gemm_with_packed_b(g, packed, scratch);
  else
    kernel::gemm(g, scratch);
}

void run_matmul(const RunCx& cx, const MatMulState& s, EpilogueRun& epilogue) {
  kernel::Gemm g = s.gemm;
  g.a = f32(cx.in[0]);
  g.b = f32(cx.in[1]);
  g.c = f32(cx.out[0]);
  g.parts = epilogue.parts();
  std::int64_t index[kMaxBatchAxes] = {};
  for (std::int64_t batch = 0; batch < s.batches; ++batch) {
    epilogue.at_row(batch * g.m);
    multiply(g, s.packed, cx.scratch);
    g.c += g.m * g.n;
    for (int i = 0; i < s.axes; ++i) {
      g.a += s.a_step[i];
      g.b += s.b_step[i];
      if (++index[i] < s.extents[i]) break;
      g.a -= s.a_step[i] * s.extents[i];
      g.b -= s.b_step[i] * s.extents[i];
      index[i] = 0;
    }
  }
  epilogue.finish();
}

struct GemmState {
  kernel::Gemm gemm;
  const std::byte* packed = nullptr;
  float alpha = 1, beta = 1;
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

void run_gemm(const RunCx& cx, const GemmState& s, EpilogueRun& epilogue) {
  kernel::Gemm g = s.gemm;
  g.a = f32(cx.in[0]);
  g.b = f32(cx.in[1]);
  g.c = f32(cx.out[0]);
  g.bias = s.bias ? f32(cx.in[2]) : nullptr;
  const bool plain = s.alpha == 1 && !s.add;
  g.parts = plain ? epilogue.parts() : nullptr;
  multiply(g, s.packed, cx.scratch);
  if (plain) return epilogue.finish();
  Pace pace;
  for (std::int64_t i = 0; i < g.m && !pace.stop(g.n); ++i) {
    float* row = g.c + i * g.c_row;
    const float* addend = s.add ? f32(cx.in[2]) + i * s.c_row : nullptr;
    for (std::int64_t j = 0; j < g.n; ++j) {
      row[j] = s.alpha * row[j] + (addend ? s.beta * addend[j * s.c_col] : 0.0f);
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
