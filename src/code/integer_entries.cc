#include <algorithm>

#include "code/entries.h"
#include "code/window_shapes.h"
#include "kernel/conv_i8.h"
#include "kernel/tuning.h"

// Convolutions of bytes with zero points.
namespace frazil {
namespace {

struct ByteConvState {
  kernel::ByteConv conv;
  std::size_t operands = 0;  ///< of the call
  std::int64_t unit = 1;     ///< units of the kernel in one of the step
};

Status prepare_byte_conv(Prepare& cx, const params::Conv& how, ByteConvState& s) {
  kernel::ConvParams& p = s.conv.params;
  read_conv(cx, how, false, p);
  s.conv.signed_x = cx.in[0].elem == Elem::i8;
  s.conv.signed_w = cx.in[1].elem == Elem::i8;
  s.operands = cx.in.size();
  if (s.operands > 3 && cx.in[3].given && cx.in[3].count() != 1) {
    if (cx.in[3].count() != p.out_c)
      return fail(Code::bad_input, "{} zero points for {} output channels", cx.in[3].count(), p.out_c);
    s.conv.w_zero_step = 1;
  }
  s.unit = cx.whole_rows ? kernel::byte_conv_units_per_plane(p) : 1;
  cx.units = std::max<std::int64_t>(1, kernel::byte_conv_units(p) / s.unit);
  cx.nanoseconds = kernel::conv_nanoseconds(kernel::tuning(), p);
  cx.scratch_bytes = kernel::byte_conv_scratch(p);
  return {};
}

void run_byte_conv(const ProductRun<ByteConvState>& r) {
  kernel::ByteConv conv = r.state.conv;
  conv.x = r.call.in[0];
  conv.w = r.call.in[1];
  if (r.state.operands > 2) conv.x_zero = r.call.in[2];
  if (r.state.operands > 3) conv.w_zero = r.call.in[3];
  conv.y = reinterpret_cast<std::int32_t*>(r.call.out[0]);
  conv.on_tile = r.epilogue.on_tile();
  const std::int64_t units = kernel::byte_conv_units(conv.params);
  kernel::byte_conv_range(conv, r.begin * r.state.unit, std::min(r.end * r.state.unit, units), r.worker.scratch);
}

std::int64_t positions(const ByteConvState& s) { return s.conv.params.out_h * s.conv.params.out_w; }

}  // namespace

KernelEntry conv_integer_entry(ProductParams<params::Conv> params) {
  return ProductEntry<params::Conv, ByteConvState, prepare_byte_conv, positions, run_byte_conv>::make(
      std::move(params));
}

}  // namespace frazil
