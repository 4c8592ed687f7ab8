#include "code/entries.h"
#include "code/window/window_shapes.h"
#include "kernel/tuning/tuning.h"
#include "tensor/buffer.h"

namespace frazil::code {
namespace {

struct ConvState {
  kernel::ConvParams params;
  const std::byte* packed = nullptr;
  bool biased = false;
  bool rows = false;             ///< computed by conv_rows
  std::size_t packed_bytes = 0;  ///< of weights that are not constant: packed in each run at the start of scratch
  std::int64_t unit = 1;         ///< units of the kernel per unit of the step
};

Status prepare_conv_rows(Prepare& cx, ConvState& s) {
  const kernel::ConvParams& p = s.params;
  const WeightRef& weight = cx.weights[1];
  const std::int64_t depth = p.in_c * p.kernel_h * p.kernel_w;
  const PackedMatrices format{Elem::f32, depth, p.out_c, 1, depth};
  const auto bytes = static_cast<std::size_t>(kernel::conv_rows_packed_w_bytes(p));
  FRAZIL_TRY(s.packed, cx.packed.get(weight, format, bytes, [&](std::byte* to) {
    kernel::conv_rows_pack_w(p, as<const float>(const_cast<std::byte*>(weight.bytes.data())), to);
  }));
  s.rows = true;
  cx.scratch_bytes = static_cast<std::size_t>(kernel::conv_rows_scratch_bytes(p));
  return {};
}

/// Sets units and cost. Units are parts of a plane of a group, or whole planes if only whole rows of the result are
/// reported.
void cut_conv(Prepare& cx, ConvState& s) {
  const kernel::ConvParams& p = s.params;
  const std::int64_t units = kernel::conv_units(p), planes = std::max<std::int64_t>(1, p.batch * p.groups);
  s.unit = cx.whole_rows ? std::max<std::int64_t>(1, units / planes) : 1;
  cx.units = std::max<std::int64_t>(1, units / s.unit);
  cx.nanoseconds = kernel::conv_nanoseconds(kernel::tuning(), p);
}

Status prepare_conv(Prepare& cx, const params::Conv& how, ConvState& s) {
  const auto& y = cx.out[0];
  kernel::ConvParams& p = s.params;
  read_conv(cx, how, false, p);
  s.biased = cx.in.size() > 2 && cx.in[2].given;
  const WeightRef& weight = cx.weights[1];
  if (weight && !y.empty() && kernel::conv_has_few_positions(p)) return prepare_conv_rows(cx, s);
  const auto bytes = static_cast<std::size_t>(kernel::conv_packed_w_bytes(p));
  if (weight) {
    const PackedKernels format = packed_kernels(Elem::f32, false, p);
    FRAZIL_TRY(s.packed, cx.packed.get(weight, format, bytes, [&](std::byte* to) {
      kernel::conv_pack_w(p, as<const float>(const_cast<std::byte*>(weight.bytes.data())), to);
    }));
    cut_conv(cx, s);
  } else {
    s.packed_bytes = aligned(bytes);  // each call packs the weights
  }
  cx.scratch_bytes = s.packed_bytes + static_cast<std::size_t>(kernel::conv_scratch_bytes(p));
  return {};
}

void run_conv(const ProductRun<ConvState>& r) {
  const auto& s = r.state;
  const auto *x = as(r.call.in[0]), *bias = s.biased ? as(r.call.in[2]) : nullptr;
  float* const y = as(r.call.out[0]);
  if (s.rows) return kernel::conv_rows(s.params, x, s.packed, bias, y, r.worker.scratch, r.epilogue.on_tile());
  const std::byte* packed = s.packed;
  if (packed == nullptr) {
    kernel::conv_pack_w(s.params, as(r.call.in[1]), r.worker.scratch);
    packed = r.worker.scratch;
    return kernel::conv(s.params, x, packed, bias, y, r.worker.scratch + s.packed_bytes, r.epilogue.on_tile());
  }
  kernel::conv_range(s.params, x, packed, bias, y, r.begin * s.unit,
                     std::min(r.end * s.unit, kernel::conv_units(s.params)), r.worker.scratch, r.epilogue.on_tile());
}

std::int64_t positions(const ConvState& s) { return s.params.out_h * s.params.out_w; }

// ---- transposed convolution ----

struct TransposeState {
  kernel::ConvParams params;
  bool biased = false;
};

Status prepare_conv_transpose(Prepare& cx, const params::ConvTranspose& how, TransposeState& s) {
  kernel::ConvParams& p = s.params;
  read_conv(cx, how, false, p);
  s.biased = cx.in.size() > 2 && cx.in[2].given;
  cx.units = kernel::conv_transpose_units(p);
  cx.scratch_bytes = static_cast<std::size_t>(kernel::conv_transpose_scratch_bytes(p));
  cx.nanoseconds = 0.04 * static_cast<double>(cx.in[0].count()) * static_cast<double>(p.out_c / p.groups) *
                   static_cast<double>(p.kernel_h * p.kernel_w);
  return {};
}

void run_conv_transpose(const Call& call, const Worker& worker, const TransposeState& s, std::int64_t begin,
                        std::int64_t end) {
  const float* const bias = s.biased ? as(call.in[2]) : nullptr;
  kernel::conv_transpose_range(s.params, as(call.in[0]), as(call.in[1]), bias, as(call.out[0]), begin, end,
                               worker.scratch);
}

// ---- pools ----

struct PoolState {
  kernel::PoolParams params;
  Elem elem = Elem::f32;
  bool count_padding = false;
};

/// Prepares a pool, whose units are planes.
void prepare_pool(Prepare& cx, const Window& window, kernel::PoolParams& p) {
  read_pool(cx, window, false, p);
  p.planes = cx.in[0].dims[0] * cx.in[0].dims[1];
  cx.units = p.planes;
}

Status prepare_max_pool(Prepare& cx, const params::MaxPool& p, PoolState& s) {
  prepare_pool(cx, p.window, s.params);
  s.elem = cx.in[0].elem;
  return {};
}

Status prepare_average_pool(Prepare& cx, const params::AveragePool& p, PoolState& s) {
  prepare_pool(cx, p.window, s.params);
  s.count_padding = p.count_padding;
  return {};
}

void run_max_pool(const Call& call, const Worker&, const PoolState& s, std::int64_t begin, std::int64_t end) {
  if (s.elem != Elem::f32)
    return kernel::max_pool_bytes(s.params, s.elem == Elem::i8, call.in[0], call.out[0], begin, end);
  kernel::max_pool_range(s.params, as(call.in[0]), as(call.out[0]), nullptr, false, begin, end);
}

void run_average_pool(const Call& call, const Worker&, const PoolState& s, std::int64_t begin, std::int64_t end) {
  kernel::average_pool_range(s.params, as(call.in[0]), as(call.out[0]), s.count_padding, begin, end);
}

struct GlobalState {
  std::int64_t extent = 1;
  bool maximum = false;
};

Status prepare_global(Prepare& cx, const params::GlobalPool& p, GlobalState& s) {
  const auto& x = cx.in[0];
  for (std::size_t i = 2; i < x.dims.size(); ++i) s.extent *= x.dims[i];
  s.maximum = p.maximum;
  cx.units = x.dims[0] * x.dims[1];
  cx.nanoseconds = 0.1 * static_cast<double>(cx.units) * static_cast<double>(s.extent);
  return {};
}

void run_global(const Call& call, const Worker&, const GlobalState& s, std::int64_t begin, std::int64_t end) {
  const auto kernel = s.maximum ? &kernel::global_max_pool : &kernel::global_average_pool;
  kernel(end - begin, s.extent, as(call.in[0]) + begin * s.extent, as(call.out[0]) + begin);
}

}  // namespace

KernelEntry entry_of(ProductParams<params::Conv> params) {
  if (params.params.zero_points && params.params.channels_last) return conv_integer_nhwc_entry(std::move(params));
  if (params.params.zero_points) return conv_integer_entry(std::move(params));
  if (params.params.channels_last) return conv_nhwc_entry(std::move(params));
  return ProductEntry<params::Conv, ConvState, prepare_conv, positions, run_conv>::make(std::move(params));
}
KernelEntry entry_of(const params::ConvTranspose& p) {
  return make_entry<params::ConvTranspose, TransposeState, prepare_conv_transpose, run_conv_transpose>(p);
}
KernelEntry entry_of(const params::MaxPool& p) {
  if (p.channels_last) return max_pool_nhwc_entry(p);
  return make_entry<params::MaxPool, PoolState, prepare_max_pool, run_max_pool>(p);
}
KernelEntry entry_of(const params::AveragePool& p) {
  if (p.channels_last) return average_pool_nhwc_entry(p);
  return make_entry<params::AveragePool, PoolState, prepare_average_pool, run_average_pool>(p);
}
KernelEntry entry_of(const params::GlobalPool& p) {
  return make_entry<params::GlobalPool, GlobalState, prepare_global, run_global>(p);
}

}  // namespace frazil::code
