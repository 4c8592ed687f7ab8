#include <algorithm>

#include "code/entries.h"
#include "code/product/product_cut.h"
#include "code/product/product_operands.h"
#include "code/window/window_shapes.h"
#include "kernel/tuning/tuning.h"
#include "kernel/window/conv_nhwc.h"

// Convolutions and pools whose channels are the last axis.
namespace frazil::code {
namespace {

struct NhwcState {
  kernel::NhwcConv conv;
  const std::byte* packed = nullptr;
  ProductOperands operands;
  std::size_t packed_bytes = 0;  ///< of weights that are not constant: packed in each run at the start of scratch
  std::int64_t unit = 1;         ///< units of the kernel per unit of the step
};

/// Sets units and cost. If only whole rows of the result are reported, units that share rows are one unit.
void cut(Prepare& cx, NhwcState& s) {
  s.unit = cx.whole_rows ? kernel::nhwc_units_per_rows(s.conv) : 1;
  cx.units = std::max<std::int64_t>(1, kernel::nhwc_units(s.conv) / s.unit);
  const bool transformed = kernel::nhwc_path(s.conv) == kernel::NhwcPath::winograd;
  const kernel::Tuning& tuning = kernel::tuning();
  const kernel::ConvParams& p = s.conv.params;
  cx.nanoseconds = transformed ? kernel::winograd_nanoseconds(tuning, p) : kernel::conv_nanoseconds(tuning, p);
  if (!transformed) return;
  const double unit = cx.nanoseconds / static_cast<double>(cx.units);
  cx.min_units = ProductCut::min_profitable_units(kernel::winograd_set_up(tuning, p), unit,
                                                  kernel::nhwc_units_per_rows(s.conv) / s.unit);
}

/// Reads the strides of an image that is not contiguous. The plan makes other operands contiguous.
Status read_strides(const OperandShape& x, kernel::NhwcConv& conv) {
  if (!kernel::nhwc_supports_strides(conv.params)) return fail(Code::internal, "the image is not contiguous");
  const std::size_t rank = x.dims.size();
  conv.x_strides[0] = x.strides[0];
  conv.x_strides[1] = rank == 3 ? 0 : x.strides[1];
  conv.x_strides[2] = x.strides[rank - 2];
  conv.x_strides[3] = x.strides[rank - 1];
  return {};
}

Status prepare_nhwc(Prepare& cx, const params::Conv& how, NhwcState& s) {
  kernel::ConvParams& p = s.conv.params;
  read_conv(cx, how, true, p);
  s.conv.elem = cx.in[0].elem;
  s.conv.strict = !cx.fast;
  s.conv.fast = cx.fast && kernel::is_winograd_profitable(kernel::tuning(), p);
  s.conv.negative_slope = how.negative_slope;
  if (!cx.in[0].contiguous) FRAZIL_CHECK(read_strides(cx.in[0], s.conv));
  s.operands = {cx.in, how};
  const WeightRef& weight = cx.weights[1];
  const std::size_t bytes = kernel::nhwc_packed_w_bytes(s.conv);
  if (weight) {
    const PackedKernels format = packed_kernels(s.conv.elem, true, p);
    FRAZIL_TRY(s.packed, cx.packed.get(weight, format, bytes,
                                       [&](std::byte* to) { kernel::nhwc_pack_w(s.conv, weight.bytes.data(), to); }));
    cut(cx, s);
  } else {
    s.packed_bytes = aligned(bytes);
  }
  cx.scratch_bytes = s.packed_bytes + kernel::nhwc_scratch_bytes(s.conv);
  return {};
}

void run_nhwc(const ProductRun<NhwcState>& r) {
  const auto& s = r.state;
  const std::int64_t units = kernel::nhwc_units(s.conv);
  const std::byte* packed = s.packed;
  if (packed == nullptr) {
    kernel::nhwc_pack_w(s.conv, r.call.in[1], r.worker.scratch);
    packed = r.worker.scratch;
  }
  const auto floats = [&](std::size_t i) { return reinterpret_cast<const float*>(ProductOperands::of(r.call, i)); };
  const kernel::NhwcColumns columns{ProductOperands::of(r.call, s.operands.bias), floats(s.operands.scale),
                                    floats(s.operands.shift), ProductOperands::of(r.call, s.operands.addend)};
  const std::int64_t begin = s.packed == nullptr ? 0 : r.begin * s.unit;
  const std::int64_t end = s.packed == nullptr ? units : std::min(r.end * s.unit, units);
  kernel::nhwc_range(s.conv, r.call.in[0], packed, columns, r.call.out[0], begin, end,
                     r.worker.scratch + s.packed_bytes, r.epilogue.on_tile());
}

std::int64_t channels(const NhwcState& s) { return s.conv.params.out_c; }

// ---- pools ----

struct NhwcPool {
  kernel::PoolParams params;
  std::int64_t channels = 0;
  Elem elem = Elem::f32;
  bool count_padding = false;
};

/// Prepares a pool, whose units are lines of the result.
void prepare_pool(Prepare& cx, const Window& window, NhwcPool& s) {
  read_pool(cx, window, true, s.params);
  s.params.planes = cx.in[0].dims[0];
  s.channels = cx.in[0].dims.back();
  s.elem = cx.in[0].elem;
  cx.units = s.params.planes * s.params.out_h;
  if (is_small_float(s.elem)) cx.scratch_bytes = static_cast<std::size_t>(s.params.out_w * s.channels) * sizeof(float);
}

Status prepare_max(Prepare& cx, const params::MaxPool& p, NhwcPool& s) {
  prepare_pool(cx, p.window, s);
  return {};
}

Status prepare_average(Prepare& cx, const params::AveragePool& p, NhwcPool& s) {
  prepare_pool(cx, p.window, s);
  s.count_padding = p.count_padding;
  return {};
}

void run_max(const Call& call, const Worker& worker, const NhwcPool& s, std::int64_t begin, std::int64_t end) {
  if (is_small_float(s.elem)) {
    return kernel::max_pool_nhwc_16(s.params, s.elem, s.channels, call.in[0], call.out[0], begin, end,
                                    as(worker.scratch));
  }
  if (s.elem != Elem::f32)
    return kernel::max_pool_bytes_nhwc(s.params, s.elem == Elem::i8, s.channels, call.in[0], call.out[0], begin, end);
  kernel::max_pool_nhwc(s.params, s.channels, as(call.in[0]), as(call.out[0]), begin, end);
}

void run_average(const Call& call, const Worker& worker, const NhwcPool& s, std::int64_t begin, std::int64_t end) {
  if (s.elem != Elem::f32) {
    return kernel::average_pool_nhwc_16(s.params, s.elem, s.channels, call.in[0], call.out[0], s.count_padding, begin,
                                        end, as(worker.scratch));
  }
  kernel::average_pool_nhwc(s.params, s.channels, as(call.in[0]), as(call.out[0]), s.count_padding, begin, end);
}

}  // namespace

KernelEntry conv_nhwc_entry(ProductParams<params::Conv> params) {
  return ProductEntry<params::Conv, NhwcState, prepare_nhwc, channels, run_nhwc>::make(std::move(params));
}
KernelEntry max_pool_nhwc_entry(const params::MaxPool& p) {
  return make_entry<params::MaxPool, NhwcPool, prepare_max, run_max>(p);
}
KernelEntry average_pool_nhwc_entry(const params::AveragePool& p) {
  return make_entry<params::AveragePool, NhwcPool, prepare_average, run_average>(p);
}

}  // namespace frazil::code
