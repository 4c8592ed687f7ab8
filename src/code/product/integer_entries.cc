#include <algorithm>

#include "code/entries.h"
#include "code/product/product_operands.h"
#include "code/window/window_shapes.h"
#include "kernel/tuning/tuning.h"
#include "kernel/window/conv_i8.h"
#include "kernel/window/conv_i8_nhwc.h"

// Convolutions of bytes with zero points.
namespace frazil::code {
namespace {

struct ByteConvState {
  kernel::ByteConv conv;
  ProductOperands operands;
  std::int64_t unit = 1;  ///< units of the kernel per unit of the step
};

/// Reads types and zero points, of either layout.
template <class State>
Status read_bytes(const Prepare& cx, const params::Conv& how, const kernel::ConvParams& p, State& s) {
  s.conv.signed_x = cx.in[0].elem == Elem::i8;
  s.conv.signed_w = cx.in[1].elem == Elem::i8;
  s.operands = {cx.in, how};
  if (s.operands.b_zero == 0) return {};
  const std::int64_t zeros = cx.in[s.operands.b_zero].count();
  if (zeros != 1 && zeros != p.out_c)
    return fail(Code::bad_input, "{} zero points for {} output channels", zeros, p.out_c);
  s.conv.w_zero_step = zeros == 1 ? 0 : 1;
  return {};
}

/// Returns the kernel's arguments for a run, except the weights, of either layout.
template <class State>
auto call_of(const ProductRun<State>& r) {
  auto conv = r.state.conv;
  conv.x = r.call.in[0];
  conv.x_zero = ProductOperands::of(r.call, r.state.operands.a_zero);
  conv.w_zero = ProductOperands::of(r.call, r.state.operands.b_zero);
  conv.y = reinterpret_cast<std::int32_t*>(r.call.out[0]);
  conv.on_tile = r.epilogue.on_tile();
  return conv;
}

Status prepare_byte_conv(Prepare& cx, const params::Conv& how, ByteConvState& s) {
  kernel::ConvParams& p = s.conv.params;
  read_conv(cx, how, false, p);
  FRAZIL_CHECK(read_bytes(cx, how, p, s));
  s.unit = cx.whole_rows ? kernel::byte_conv_units_per_plane(p) : 1;
  cx.units = std::max<std::int64_t>(1, kernel::byte_conv_units(p) / s.unit);
  cx.nanoseconds = kernel::conv_nanoseconds(kernel::tuning(), p);
  cx.scratch_bytes = kernel::byte_conv_scratch(p);
  return {};
}

void run_byte_conv(const ProductRun<ByteConvState>& r) {
  kernel::ByteConv conv = call_of(r);
  conv.w = r.call.in[1];
  const std::int64_t units = kernel::byte_conv_units(conv.params);
  kernel::byte_conv_range(conv, r.begin * r.state.unit, std::min(r.end * r.state.unit, units), r.worker.scratch);
}

std::int64_t positions(const ByteConvState& s) { return s.conv.params.out_h * s.conv.params.out_w; }

// ---- channels last ----

/// Returns the time of a convolution. A depthwise one takes as long as with f32, others as a product of bytes.
double nanoseconds_of(const kernel::ConvParams& p) {
  const kernel::Tuning& t = kernel::tuning();
  const bool depthwise = p.groups > 1 && p.in_c == p.groups;
  return kernel::conv_nanoseconds(t, p) * (depthwise ? 1 : t.byte_product / t.conv);
}

struct ByteNhwcState {
  kernel::ByteConvNhwc conv;
  ProductOperands operands;
  std::int64_t unit = 1;
};

Status prepare_byte_nhwc(Prepare& cx, const params::Conv& how, ByteNhwcState& s) {
  kernel::ConvParams& p = s.conv.form.params;
  read_conv(cx, how, true, p);
  FRAZIL_CHECK(read_bytes(cx, how, p, s));
  s.conv.form.has_w_zero = s.operands.b_zero != 0;
  const WeightRef& weight = cx.weights[1];
  if (!weight) return fail(Code::internal, "the weights are not constant");
  PackedKernels format = packed_kernels(cx.in[1].elem, true, p);
  format.zero_points = s.conv.form.has_w_zero;
  FRAZIL_TRY(s.conv.packed_w,
             cx.packed.get(weight, format, kernel::byte_nhwc_packed_w_bytes(s.conv.form), [&](std::byte* to) {
               kernel::byte_nhwc_pack_w(s.conv.form, weight.bytes.data(), s.conv.signed_w, to);
             }));
  s.unit = cx.whole_rows ? kernel::byte_nhwc_units_per_rows(s.conv.form) : 1;
  cx.units = std::max<std::int64_t>(1, kernel::byte_nhwc_units(s.conv.form) / s.unit);
  cx.nanoseconds = nanoseconds_of(p);
  cx.scratch_bytes = kernel::byte_nhwc_scratch(s.conv.form);
  return {};
}

void run_byte_nhwc(const ProductRun<ByteNhwcState>& r) {
  const kernel::ByteConvNhwc conv = call_of(r);
  const std::int64_t units = kernel::byte_nhwc_units(conv.form);
  kernel::byte_nhwc_range(conv, r.begin * r.state.unit, std::min(r.end * r.state.unit, units), r.worker.scratch);
}

std::int64_t channels(const ByteNhwcState& s) { return s.conv.form.params.out_c; }

}  // namespace

KernelEntry conv_integer_nhwc_entry(ProductParams<params::Conv> params) {
  return ProductEntry<params::Conv, ByteNhwcState, prepare_byte_nhwc, channels, run_byte_nhwc>::make(std::move(params));
}

KernelEntry conv_integer_entry(ProductParams<params::Conv> params) {
  return ProductEntry<params::Conv, ByteConvState, prepare_byte_conv, positions, run_byte_conv>::make(
      std::move(params));
}

}  // namespace frazil::code
