#include "exec/codes.h"
#include "exec/product_code.h"
#include "kernel/conv.h"
#include "kernel/pool.h"
#include "tensor/buffer.h"

namespace frazil {
namespace {

const float* f32(const std::byte* p) { return reinterpret_cast<const float*>(p); }
float* f32(std::byte* p) { return reinterpret_cast<float*>(p); }

/// Extent h (k = 0) or w (k = 1) of [n, c, (h,) w]; 1-D tensors have h = 1.
std::int64_t spatial(const OperandShape& x, int k) {
  if (x.dims.size() == 3) return k == 0 ? 1 : x.dims[2];
  return x.dims[2 + static_cast<std::size_t>(k)];
}

struct ConvState {
  kernel::ConvParams params;
  const std::byte* packed = nullptr;
  bool biased = false;
  bool rows = false;             ///< by conv_rows
  std::size_t packed_bytes = 0;  ///< packed per run at the start of scratch when the weights are not constant
};

Status prepare_conv_rows(PrepareCx& cx, ConvState& s) {
  const kernel::ConvParams& p = s.params;
  const std::byte* weight = cx.constants[1];
  const std::int64_t depth = p.in_c * p.kernel_h * p.kernel_w;
  const std::string format = fmt::format("gemm {} {} 1 {}", depth, p.out_c, depth);
  const auto bytes = static_cast<std::size_t>(kernel::conv_rows_packed_w_bytes(p));
  FRAZIL_TRY(s.packed, cx.packs.get({weight, cx.in[1].bytes()}, format, bytes,
                                    [&](std::byte* to) { kernel::conv_rows_pack_w(p, f32(weight), to); }));
  s.rows = true;
  cx.scratch_bytes = static_cast<std::size_t>(kernel::conv_rows_scratch_bytes(p));
  return {};
}

Status prepare_conv(PrepareCx& cx, ConvState& s) {
  const auto &x = cx.in[0], &w = cx.in[1], &y = cx.out[0];
  const Window window = Window::read(std::span(cx.step.ints).subspan(1));
  kernel::ConvParams& p = s.params;
  p.batch = x.dims[0];
  p.in_c = x.dims[1];
  p.out_c = w.dims[0];
  p.groups = cx.step.ints[0];
  p.in_h = spatial(x, 0), p.in_w = spatial(x, 1);
  p.out_h = spatial(y, 0), p.out_w = spatial(y, 1);
  p.kernel_h = spatial(w, 0), p.kernel_w = spatial(w, 1);
  p.stride_h = window.stride[0], p.stride_w = window.stride[1];
  p.dilation_h = window.dilation[0], p.dilation_w = window.dilation[1];
  p.pad_top = window.pad(0, p.in_h, p.out_h, p.kernel_h);
  p.pad_left = window.pad(1, p.in_w, p.out_w, p.kernel_w);
  s.biased = cx.in.size() > 2 && cx.in[2].given;
  if (cx.constants[1] != nullptr && !y.empty() && kernel::conv_has_few_positions(p)) return prepare_conv_rows(cx, s);
  const auto bytes = static_cast<std::size_t>(kernel::conv_packed_w_bytes(p));
  if (const std::byte* weight = cx.constants[1]; weight != nullptr) {
    const std::string format = fmt::format("conv {} {} {} {} {}", p.out_c, p.in_c, p.kernel_h, p.kernel_w, p.groups);
    FRAZIL_TRY(s.packed, cx.packs.get({weight, w.bytes()}, format, bytes,
                                      [&](std::byte* to) { kernel::conv_pack_w(p, f32(weight), to); }));
  } else {
    s.packed_bytes = aligned(bytes);
  }
  cx.scratch_bytes = s.packed_bytes + static_cast<std::size_t>(kernel::conv_scratch_bytes(p));
  return {};
}

void run_conv(const RunCx& cx, const ConvState& s, const PrologueRun&, EpilogueRun& epilogue) {
  const auto *x = f32(cx.in[0]), *bias = s.biased ? f32(cx.in[2]) : nullptr;
  if (s.rows) {
    kernel::conv_rows(s.params, x, s.packed, bias, f32(cx.out[0]), cx.scratch, epilogue.parts());
    return epilogue.finish();
  }
  const std::byte* packed = s.packed;
  if (packed == nullptr) {
    kernel::conv_pack_w(s.params, f32(cx.in[1]), cx.scratch);
    packed = cx.scratch;
  }
  kernel::conv(s.params, x, packed, bias, f32(cx.out[0]), cx.scratch + s.packed_bytes, epilogue.parts());
  epilogue.finish();
}

std::int64_t positions(const ConvState& s) { return s.params.out_h * s.params.out_w; }

struct PoolState {
  kernel::PoolParams params;
  bool flag = false;
};

Status prepare_pool(PrepareCx& cx, void* state) {
  auto& s = *new (state) PoolState{};
  const auto &x = cx.in[0], &y = cx.out[0];
  const Window w = Window::read(std::span(cx.step.ints).subspan(1));
  kernel::PoolParams& p = s.params;
  s.flag = cx.step.ints[0] != 0;
  p.planes = x.dims[0] * x.dims[1];
  p.in_h = spatial(x, 0), p.in_w = spatial(x, 1);
  p.out_h = spatial(y, 0), p.out_w = spatial(y, 1);
  p.kernel_h = w.kernel[0], p.kernel_w = w.kernel[1];
  p.stride_h = w.stride[0], p.stride_w = w.stride[1];
  p.dilation_h = w.dilation[0], p.dilation_w = w.dilation[1];
  p.pad_top = w.pad(0, p.in_h, p.out_h, p.kernel_h);
  p.pad_left = w.pad(1, p.in_w, p.out_w, p.kernel_w);
  p.pad_bottom = w.end_pad(0, p.in_h, p.out_h, p.kernel_h);
  p.pad_right = w.end_pad(1, p.in_w, p.out_w, p.kernel_w);
  return {};
}

void run_max_pool(const RunCx& cx, const void* state) {
  const auto& s = *static_cast<const PoolState*>(state);
  kernel::max_pool(s.params, f32(cx.in[0]), f32(cx.out[0]), nullptr, s.flag);
}

void run_average_pool(const RunCx& cx, const void* state) {
  const auto& s = *static_cast<const PoolState*>(state);
  kernel::average_pool(s.params, f32(cx.in[0]), f32(cx.out[0]), s.flag);
}

struct GlobalState {
  std::int64_t planes, extent;
  bool maximum;
};

Status prepare_global(PrepareCx& cx, void* state) {
  const auto& x = cx.in[0];
  const std::int64_t planes = x.dims[0] * x.dims[1];
  std::int64_t extent = 1;
  for (std::size_t i = 2; i < x.dims.size(); ++i) extent *= x.dims[i];
  new (state) GlobalState{planes, extent, cx.step.ints[0] != 0};
  return {};
}

void run_global(const RunCx& cx, const void* state) {
  const auto& s = *static_cast<const GlobalState*>(state);
  const auto kernel = s.maximum ? &kernel::global_max_pool : &kernel::global_average_pool;
  kernel(s.planes, s.extent, f32(cx.in[0]), f32(cx.out[0]));
}

}  // namespace

const KernelCode kConvCode = ProductCode<ConvState, prepare_conv, positions, run_conv>::kCode;
const KernelCode kMaxPoolCode{sizeof(PoolState), &prepare_pool, &run_max_pool};
const KernelCode kAveragePoolCode{sizeof(PoolState), &prepare_pool, &run_average_pool};
const KernelCode kGlobalPoolCode{sizeof(GlobalState), &prepare_global, &run_global};

}  // namespace frazil
