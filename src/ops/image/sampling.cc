#include "ops/image/sampling.h"

#include <algorithm>
#include <cstring>

#include "ops/core/move.h"
#include "ops/core/numbers.h"
#include "ops/core/rules.h"
#include "sym/saturate.h"
#include "tensor/strided.h"

namespace frazil::ops {

double cubic_weight(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

namespace {

// ---- MaxUnpool ----

Status check_attrs(InferCx& cx, const MaxUnpoolAttrs& a) {
  FRAZIL_CHECK(check_span(cx, a.kernel_shape, 1, "kernel_shape"));
  FRAZIL_CHECK(check_list(cx, a.strides, a.kernel_shape.size(), 1, "strides"));
  return check_list(cx, a.pads, 2 * a.kernel_shape.size(), 0, "pads");
}

/// Returns the output positions along spatial axis d beyond (extent - 1) * stride.
std::int64_t window_rest(const MaxUnpoolAttrs& a, std::size_t d) {
  return a.kernel_shape[d] - listed(a.pads, d, 0) - listed(a.pads, d + a.kernel_shape.size(), 0);
}

/// Returns the extents that the indices refer to.
Sizes unpooled_sizes(std::span<const std::int64_t> in, const MaxUnpoolAttrs& a) {
  Sizes sizes(in.begin(), in.end());
  for (std::size_t d = 0; d < a.kernel_shape.size(); ++d) {
    const std::int64_t steps = sym::sat_mul(in[d + 2] - 1, listed(a.strides, d, 1));
    sizes[d + 2] = std::max<std::int64_t>(sym::sat_add(steps, window_rest(a, d)), 0);
  }
  return sizes;
}

/// Converts flat index `i` in `from` to a flat index in `to`. Returns nullopt if it is outside.
std::optional<std::int64_t> moved_place(std::int64_t i, std::span<const std::int64_t> from,
                                        std::span<const std::int64_t> to) {
  if (std::ranges::find(to, 0) != to.end()) return std::nullopt;
  std::int64_t flat = 0, factor = 1;
  for (std::size_t d = from.size(); d-- > 0; i /= from[d]) {
    const std::int64_t at = i % from[d];
    if (at >= to[d]) return std::nullopt;  // keeps the products below within the element count of `to`
    flat += at * factor;
    factor *= to[d];
  }
  return flat;
}

}  // namespace

Status max_unpool_types(InferCx& cx) {
  const auto& a = cx.attrs<MaxUnpoolAttrs>();
  const std::size_t rank = cx.rank(0), spatial = a.kernel_shape.size();
  if (rank < 3 || spatial != rank - 2)
    return cx.error("kernel_shape has {} entries, 'X' is {}", spatial, cx.type_str(0));
  FRAZIL_CHECK(check_attrs(cx, a));
  if (cx.rank(1) != rank) return cx.error("input 'I' must have the shape of 'X', got {}", cx.type_str(1));
  for (std::size_t d = 0; d < rank; ++d) {
    FRAZIL_TRY(const Dim same, cx.require_equal(cx.shape(0)[d], cx.shape(1)[d], "extents of 'X' and 'I'"));
    (void)same;
  }
  Shape shape = cx.shape(0);
  Scope& s = cx.scope();
  for (std::size_t d = 0; d < spatial; ++d) {
    const Dim steps = s.mul(s.sub(shape[d + 2], 1), listed(a.strides, d, 1));
    shape[d + 2] = s.max(s.add(steps, window_rest(a, d)), 0);
  }
  if (cx.has(2)) {
    FRAZIL_TRY(const std::vector<Dim> given, cx.ints(2));
    if (given.size() != rank) return cx.error("input 'output_shape' must have {} elements, got {}", rank, given.size());
    for (std::size_t d = 0; d < rank; ++d) {
      FRAZIL_CHECK(require_at_least(cx, given[d], 0, fmt::format("output_shape[{}]", d)));
      shape[d] = s.max(given[d], 0);
    }
  }
  cx.out(0, Type::tensor(cx.elem(0), std::move(shape)));
  return {};
}

Status max_unpool_run(OpaqueCall& call) {
  const TensorView x = call.in(0), places = call.in(1);
  const Sizes inferred = unpooled_sizes(x.sizes, call.attrs<MaxUnpoolAttrs>());
  Sizes sizes = inferred;
  for (std::size_t d = 0; d < sizes.size() && call.has(2); ++d)
    sizes[d] = call.in(2).integer(static_cast<std::int64_t>(d));
  for (std::int64_t size : sizes) {
    if (size < 0) return fail(Code::bad_input, "input 'output_shape': extent {} is negative", size);
  }
  FRAZIL_TRY(std::byte * out, call.out(0, sizes));
  const auto width = static_cast<std::int64_t>(byte_size(x.elem));
  std::memset(out, 0, static_cast<std::size_t>(product(sizes) * width));
  std::int64_t limit = 1;
  for (std::int64_t extent : inferred) limit = sym::sat_mul(limit, extent);
  PollThrottle throttle;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    if (throttle.stop(8)) return {};
    const std::int64_t at = places.integer(i);
    if (at < 0 || at >= limit) {
      return fail(Code::bad_input, "input 'I': index {} at {} is outside [0, {}]", at, index_str(x.sizes, i),
                  limit - 1);
    }
    const auto to = moved_place(at, inferred, sizes);
    if (!to)
      return fail(Code::bad_input, "input 'I': index {} at {} is outside of the output", at, index_str(x.sizes, i));
    std::memcpy(out + *to * width, x.data + i * width, static_cast<std::size_t>(width));
  }
  return {};
}

// ---- DeformConv ----

Status deform_conv_types(InferCx& cx) {
  const auto& a = cx.attrs<DeformConvAttrs>();
  if (cx.rank(0) != 4 || cx.rank(1) != 4 || cx.rank(2) != 4) return cx.unsupported("only 2 spatial axes are available");
  if (a.group < 1 || a.offset_group < 1) return cx.error("group and offset_group must be positive");
  FRAZIL_CHECK(check_list(cx, a.dilations, 2, 1, "dilations"));
  FRAZIL_CHECK(check_list(cx, a.strides, 2, 1, "strides"));
  FRAZIL_CHECK(check_list(cx, a.pads, 4, 0, "pads"));
  Scope& s = cx.scope();
  const Shape x = cx.shape(0), w = cx.shape(1), offset = cx.shape(2);
  const Dim taps = s.mul(s.mul(w[2], w[3]), a.offset_group);
  FRAZIL_CHECK(check_list(cx, a.kernel_shape, 2, 0, "kernel_shape"));
  for (std::size_t d = 0; d < a.kernel_shape.size(); ++d) {
    FRAZIL_CHECK(cx.require_equal(a.kernel_shape[d], w[d + 2], "kernel_shape"));
  }
  FRAZIL_TRY(const Dim channels, cx.require_equal(s.mul(w[1], a.group), x[1], "channels of 'X' and 'W'"));
  FRAZIL_TRY(const Dim offsets, cx.require_equal(offset[1], s.mul(taps, 2), "channels of 'offset'"));
  FRAZIL_TRY(const Dim batch, cx.require_equal(offset[0], x[0], "batch of 'offset'"));
  (void)channels, (void)offsets;
  Shape shape{batch, w[0]};
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t stride = listed(a.strides, d, 1);
    const Dim reach = s.mul(s.sub(w[d + 2], 1), listed(a.dilations, d, 1));
    const Dim room = s.sub(s.add(x[d + 2], listed(a.pads, d, 0) + listed(a.pads, d + 2, 0) - 1), reach);
    const Dim extent = s.add(s.floordiv(room, stride), 1);
    FRAZIL_TRY(const Dim known, cx.require_equal(extent, offset[d + 2], "spatial extents of 'offset'"));
    shape.push_back(known);
  }
  if (cx.has(3)) {
    if (cx.rank(3) != 1) return cx.error("input 'B' must have 1 axis, got {}", cx.type_str(3));
    FRAZIL_TRY(const Dim same, cx.require_equal(cx.shape(3)[0], w[0], "extent of 'B'"));
    (void)same;
  }
  if (cx.has(4)) {
    const Shape expected{batch, taps, shape[2], shape[3]};
    if (cx.rank(4) != 4) return cx.error("input 'mask' must have 4 axes, got {}", cx.type_str(4));
    for (std::size_t d = 0; d < 4; ++d) {
      FRAZIL_TRY(const Dim same, cx.require_equal(cx.shape(4)[d], expected[d], "extents of 'mask'"));
      (void)same;
    }
  }
  cx.out(0, Type::tensor(cx.elem(0), std::move(shape)));
  return {};
}

namespace {

/// Returns the bilinear sample of an image at (y, x), or 0 outside.
double sample(const double* image, std::int64_t height, std::int64_t width, double y, double x) {
  if (!(y > -1) || !(x > -1) || !(y < static_cast<double>(height)) || !(x < static_cast<double>(width))) return 0;
  const auto y0 = static_cast<std::int64_t>(std::floor(y)), x0 = static_cast<std::int64_t>(std::floor(x));
  const double fy = y - static_cast<double>(y0), fx = x - static_cast<double>(x0);
  const auto at = [&](std::int64_t r, std::int64_t c) {
    return r < 0 || r >= height || c < 0 || c >= width ? 0.0 : image[r * width + c];
  };
  return (1 - fy) * ((1 - fx) * at(y0, x0) + fx * at(y0, x0 + 1)) +
         fy * ((1 - fx) * at(y0 + 1, x0) + fx * at(y0 + 1, x0 + 1));
}

/// The operands as doubles, and their extents by name.
struct DeformJob {
  const DeformConvAttrs& a;
  std::int64_t c, h, w, oc, group_c, kh, kw, oh, ow;
  std::vector<double> x, weight, offset, bias, mask;

  double tap(std::int64_t n, std::int64_t channel, std::int64_t k, std::int64_t i, std::int64_t j) const {
    const std::int64_t part = channel / (c / a.offset_group), taps = kh * kw;
    const auto plane = [&](std::int64_t p, std::int64_t planes) {
      return static_cast<std::size_t>(((n * planes + p) * oh + i) * ow + j);
    };
    const std::int64_t p = part * taps + k, all = a.offset_group * taps;
    const std::int64_t row = k / kw;
    const double y =
        static_cast<double>(i * listed(a.strides, 0, 1) - listed(a.pads, 0, 0) + row * listed(a.dilations, 0, 1));
    const double z =
        static_cast<double>(j * listed(a.strides, 1, 1) - listed(a.pads, 1, 0) + k % kw * listed(a.dilations, 1, 1));
    const double value = sample(x.data() + (n * c + channel) * h * w, h, w, y + offset[plane(2 * p, 2 * all)],
                                z + offset[plane(2 * p + 1, 2 * all)]);
    return mask.empty() ? value : value * mask[plane(p, all)];
  }
  double output(std::int64_t n, std::int64_t o, std::int64_t i, std::int64_t j) const {
    double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(o)];
    const std::int64_t first = o / (oc / a.group) * group_c;
    for (std::int64_t g = 0; g < group_c; ++g) {
      for (std::int64_t k = 0; k < kh * kw; ++k) {
        sum += weight[static_cast<std::size_t>((o * group_c + g) * kh * kw + k)] * tap(n, first + g, k, i, j);
      }
    }
    return sum;
  }
};

}  // namespace

Status deform_conv_run(OpaqueCall& call) {
  const auto& a = call.attrs<DeformConvAttrs>();
  const auto x = call.in(0).sizes, w = call.in(1).sizes, offset = call.in(2).sizes;
  if (x[1] % a.offset_group != 0 || w[0] % a.group != 0) {
    return fail(Code::bad_input, "{} channels in, {} out do not split into offset_group {} and group {}", x[1], w[0],
                a.offset_group, a.group);
  }
  const auto numbers = [&](std::size_t i) { return call.has(i) ? to_numbers(call.in(i)) : std::vector<double>{}; };
  const DeformJob job{a,         x[1],      x[2],       x[3],       w[0],       w[1],       w[2],      w[3],
                      offset[2], offset[3], numbers(0), numbers(1), numbers(2), numbers(3), numbers(4)};
  const std::array sizes{x[0], job.oc, job.oh, job.ow};
  FRAZIL_TRY(std::byte * out, call.out(0, sizes));
  std::vector<double> result;
  result.reserve(static_cast<std::size_t>(product(sizes)));
  PollThrottle throttle;
  for (std::int64_t at = 0; at < product(sizes); ++at) {
    if (throttle.stop(16 * job.group_c * job.kh * job.kw)) return {};
    const std::int64_t row = at / job.ow, channel = row / job.oh;
    result.push_back(job.output(channel / job.oc, channel % job.oc, row % job.oh, at % job.ow));
  }
  from_numbers(call.in(0).elem, out, result);
  return {};
}

}  // namespace frazil::ops
