#include <algorithm>

#include "base/stop.h"
#include "exec/codes.h"
#include "kernel/plain_gemm.h"

// MatMul of element types that the tuned product does not serve.
namespace frazil {
namespace {

constexpr std::size_t kMaxBatchAxes = 8;

/// One product per batch; operands without a batch axis repeat.
struct PlainProductState {
  kernel::PlainGemm gemm;
  Elem elem = Elem::f64;
  std::size_t axes = 0;
  std::int64_t batches = 1;
  std::int64_t extents[kMaxBatchAxes] = {}, a_step[kMaxBatchAxes] = {}, b_step[kMaxBatchAxes] = {};
};

std::size_t batch_axes(const OperandShape& x) { return x.dims.size() < 2 ? 0 : x.dims.size() - 2; }

/// Extent and step of batch axis i, counted from the last one; an axis that is not there repeats.
std::pair<std::int64_t, std::int64_t> batch_axis(const OperandShape& x, std::size_t i) {
  const std::size_t count = batch_axes(x);
  if (i >= count) return {1, 0};
  const std::int64_t extent = x.dims[count - 1 - i];
  return {extent, extent == 1 ? 0 : x.strides[count - 1 - i]};
}

Status prepare_plain_product(PrepareCx& cx, void* state) {
  auto& s = *new (state) PlainProductState{};
  const auto &a = cx.in[0], &b = cx.in[1];
  const std::size_t ra = a.dims.size(), rb = b.dims.size();
  kernel::PlainGemm& g = s.gemm;
  s.elem = a.elem;
  g.m = ra > 1 ? a.dims[ra - 2] : 1;
  g.k = a.dims[ra - 1];
  g.n = rb > 1 ? b.dims[rb - 1] : 1;
  g.a_row = ra > 1 ? a.strides[ra - 2] : 0;
  g.a_col = a.strides[ra - 1];
  g.b_row = rb > 1 ? b.strides[rb - 2] : b.strides[0];
  g.b_col = rb > 1 ? b.strides[rb - 1] : 1;
  s.axes = std::max(batch_axes(a), batch_axes(b));
  if (s.axes > kMaxBatchAxes) return fail(Code::unsupported, "more than {} batch axes", kMaxBatchAxes);
  for (std::size_t i = 0; i < s.axes; ++i) {
    const auto [ea, step_a] = batch_axis(a, i);
    const auto [eb, step_b] = batch_axis(b, i);
    if (ea != eb && ea != 1 && eb != 1) {
      return fail(Code::bad_input, "batch extents {} and {} do not broadcast", ea, eb);
    }
    s.extents[i] = ea == 1 ? eb : ea;
    s.a_step[i] = step_a;
    s.b_step[i] = step_b;
    s.batches *= s.extents[i];
  }
  cx.scratch_bytes = kernel::kPlainGemmScratch;
  return {};
}

void run_plain_product(const RunCx& cx, const void* state) {
  const auto& s = *static_cast<const PlainProductState*>(state);
  const auto width = static_cast<std::int64_t>(byte_size(s.elem));
  kernel::PlainGemm g = s.gemm;
  const std::byte *a = cx.in[0], *b = cx.in[1];
  std::byte* c = cx.out[0];
  std::int64_t index[kMaxBatchAxes] = {};
  for (std::int64_t batch = 0; batch < s.batches && !stop_requested(); ++batch) {
    g.a = a;
    g.b = b;
    g.c = c;
    kernel::plain_gemm(s.elem, g, cx.scratch);
    c += g.m * g.n * width;
    for (std::size_t i = 0; i < s.axes; ++i) {
      a += s.a_step[i] * width;
      b += s.b_step[i] * width;
      if (++index[i] < s.extents[i]) break;
      a -= s.a_step[i] * s.extents[i] * width;
      b -= s.b_step[i] * s.extents[i] * width;
      index[i] = 0;
    }
  }
}

}  // namespace

const KernelCode kPlainProductCode{sizeof(PlainProductState), &prepare_plain_product, &run_plain_product};

}  // namespace frazil
