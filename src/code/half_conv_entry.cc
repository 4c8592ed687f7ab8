#include <algorithm>

#include "code/entries.h"
#include "code/window_shapes.h"
#include "kernel/contract/conv_16.h"

// Convolutions of 16-bit floats, whose channels are the last axis and whose weights are constant.
namespace frazil::code {
namespace {

struct HalfConvState {
  kernel::HalfConv conv;
  const std::byte* packed = nullptr;
  ColumnOperands columns;
};

Status prepare_half_conv(Prepare& cx, const params::Conv& how, HalfConvState& s) {
  kernel::HalfConv& conv = s.conv;
  read_conv(cx, how, true, conv.params);
  conv.elem = cx.in[0].elem;
  conv.strict = !cx.fast;
  conv.slope = how.slope;
  s.columns.read(cx, how);
  const WeightRef& weight = cx.weights[1];
  if (!weight) return fail(Code::internal, "weights of a convolution of {} are not constant", name_of(conv.elem));
  const kernel::ConvParams& p = conv.params;
  const std::int64_t order = p.dilation_w == 1 ? -1 : -2;  // that of f32 has groups there
  const PackFormat format{PackFormat::Layout::conv_nhwc, {p.out_c, p.in_c, p.kernel_h, p.kernel_w, order}};
  FRAZIL_TRY(s.packed, cx.packed.get(weight, format, kernel::half_conv_packed_w_bytes(conv),
                                     [&](std::byte* to) { kernel::half_conv_pack_w(conv, weight.bytes.data(), to); }));
  cx.units = std::max<std::int64_t>(1, kernel::half_conv_units(conv));
  cx.scratch_bytes = kernel::half_conv_scratch_bytes(conv);
  cx.nanoseconds = kernel::conv_nanoseconds(kernel::tuning(), p);
  return {};
}

void run_half_conv(const ProductRun<HalfConvState>& r) {
  const auto& s = r.state;
  const std::int64_t end = std::min(r.end, kernel::half_conv_units(s.conv));
  const auto operand = [&](std::size_t i) { return i != 0 ? r.call.in[i] : nullptr; };
  const kernel::HalfColumns columns{operand(s.columns.bias), as(operand(s.columns.scale)), as(operand(s.columns.shift)),
                                    operand(s.columns.addend)};
  kernel::half_conv_range(s.conv, r.call.in[0], s.packed, columns, r.call.out[0], r.begin, end, r.worker.scratch,
                          r.epilogue.on_tile());
}

std::int64_t channels(const HalfConvState& s) { return s.conv.params.out_c; }

}  // namespace

KernelEntry half_conv_entry(ProductParams<params::Conv> params) {
  return ProductEntry<params::Conv, HalfConvState, prepare_half_conv, channels, run_half_conv>::make(std::move(params));
}

}  // namespace frazil::code
