#include <algorithm>

#include "ops/contraction/window.h"
#include "ops/core/compose.h"
#include "ops/core/rules.h"
#include "ops/elementwise/math.h"
#include "ops/view/view.h"

namespace frazil::ops {

Result<Ints> per_axis(InferCx& cx, const Ints& given, std::size_t count, std::int64_t missing, std::string_view what) {
  if (given.empty()) return Ints(count, missing);
  if (given.size() != count) return cx.error("{} has {} entries, expected {}", what, given.size(), count);
  return given;
}

Dim covered(Scope& scope, Dim kernel, std::int64_t dilation) {
  return scope.add(scope.mul(scope.sub(kernel, 1), dilation), 1);
}

Dim pad_begin(Scope& scope, Dim total, const std::string& auto_pad) {
  return auto_pad == "SAME_LOWER" ? ceildiv(scope, total, 2) : scope.floordiv(total, 2);
}

Ix sliding(const Ix& out, const Ix& kernel, Dim stride, Dim dilation, Dim offset) {
  return {offset, {{out.terms[0].first, stride}, {kernel.terms[0].first, dilation}}};
}

namespace {

bool is_same(const std::string& auto_pad) { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }

constexpr std::int64_t kMaxPad = (std::int64_t{1} << 31) - 1;

/// Returns the number of windows if the last one may begin `room` positions after the first. Room is negative if the
/// window is larger than the padded axis.
Dim explicit_count(Scope& s, Dim in, Dim before, Dim room, std::int64_t stride, Rounding rounding) {
  const Dim floor = s.add(s.floordiv(room, stride), 1);
  if (rounding == Rounding::floor) return floor;
  const Dim ceil = s.add(ceildiv(s, room, stride), 1);
  if (rounding == Rounding::truncate) return stride == 1 ? floor : s.max(floor, s.min(ceil, 1));
  return s.min(ceil, ceildiv(s, s.add(in, before), stride));
}

Status check_window_attrs(InferCx& cx, const Ints& strides, const Ints& dilations, const WindowAttrs& a) {
  FRAZIL_CHECK(check_span(cx, strides, 1, "strides"));
  FRAZIL_CHECK(check_span(cx, dilations, 1, "dilations"));
  FRAZIL_CHECK(check_span(cx, a.pads, -kMaxPad, "pads"));
  if (a.auto_pad != "NOTSET" && a.auto_pad != "VALID" && !is_same(a.auto_pad)) {
    return cx.error("auto_pad '{}' is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID", a.auto_pad);
  }
  return {};
}

Status check_kernel(InferCx& cx, std::span<const Dim> kernel, const WindowAttrs& a) {
  FRAZIL_TRY(const Ints given, per_axis(cx, a.kernel_shape, kernel.size(), 0, "kernel_shape"));
  for (std::size_t i = 0; i < kernel.size() && !a.kernel_shape.empty(); ++i) {
    FRAZIL_CHECK(cx.require_equal(kernel[i], given[i], "kernel_shape"));
  }
  return {};
}

}  // namespace

bool is_image(CompositeCx& cx) {
  if (cx.rank(0) < 3) cx.error("X needs at least 3 axes, got {}", cx.rank(0));
  return static_cast<bool>(cx.status());
}

Result<std::vector<Window>> windows(InferCx& cx, std::span<const Dim> in, std::span<const Dim> kernel,
                                    const WindowAttrs& a, Rounding rounding) {
  const std::size_t n = in.size();
  const Rounding used = a.auto_pad == "NOTSET" || rounding == Rounding::floor ? rounding : Rounding::truncate;
  FRAZIL_TRY(const Ints strides, per_axis(cx, a.strides, n, 1, "strides"));
  FRAZIL_TRY(const Ints dilations, per_axis(cx, a.dilations, n, 1, "dilations"));
  FRAZIL_TRY(const Ints pads, per_axis(cx, a.auto_pad == "NOTSET" ? a.pads : Ints{}, 2 * n, 0, "pads"));
  FRAZIL_CHECK(check_window_attrs(cx, strides, dilations, a));
  FRAZIL_CHECK(check_kernel(cx, kernel, a));
  Scope& s = cx.scope();
  std::vector<Window> list;
  for (std::size_t i = 0; i < n; ++i) {
    Window w{.out = 0, .begin = pads[i], .kernel = kernel[i], .stride = strides[i], .dilation = dilations[i]};
    const Dim span = covered(s, w.kernel, w.dilation);
    if (is_same(a.auto_pad)) {
      w.out = ceildiv(s, in[i], w.stride);
      const Dim needed = s.add(s.mul(s.sub(w.out, 1), w.stride), span);
      w.begin = pad_begin(s, s.max(0, s.sub(needed, in[i])), a.auto_pad);
    } else {
      const Dim room = s.sub(s.add(in[i], s.add(pads[i], pads[n + i])), span);
      w.out = explicit_count(s, in[i], w.begin, room, w.stride, used);
    }
    list.push_back(w);
  }
  return list;
}

namespace {

/// The spatial extents of the operands of a convolution. x is [batch, (group,) channels, spatial...]; the weights have
/// an axis of channels in place of the batch.
struct ConvShapes {
  std::size_t first_spatial = 2;  ///< first spatial axis of x
  std::vector<Dim> spatial, kernel;
};

Result<ConvShapes> conv_shapes(InferCx& cx, bool grouped) {
  ConvShapes c{.first_spatial = grouped ? 3u : 2u, .spatial = {}, .kernel = {}};
  const auto &x = cx.shape(0), &w = cx.shape(1);
  if (x.size() < c.first_spatial || w.size() != x.size()) {
    return cx.error("X and W do not fit: {}, {}", cx.type_str(0), cx.type_str(1));
  }
  c.spatial.assign(x.begin() + static_cast<std::ptrdiff_t>(c.first_spatial), x.end());
  c.kernel.assign(w.begin() + static_cast<std::ptrdiff_t>(c.first_spatial), w.end());
  return c;
}

/// The indices of a convolution: output and kernel positions along the spatial axes, and the channel of X.
struct ConvAxes {
  std::vector<Ix> out, kernel;
  Ix in_channel;
};
/// Adds the axes and the reads of a convolution. With `channel_first`, the first axis of W after the group is summed
/// with X's channels, else the second.
ConvAxes add_conv_axes(InferCx& cx, Space& space, std::span<const Dim> out, std::span<const Dim> kernel, bool grouped,
                       Dim channels, bool channel_first) {
  const auto &x = cx.shape(0), &w = cx.shape(1);
  const std::size_t g = grouped ? 1 : 0;
  ConvAxes axes;
  const Ix batch = space.parallel(x[0]);
  std::optional<Ix> group;
  if (grouped) group = space.parallel(x[1]);
  const Ix out_channel = space.parallel(w[channel_first ? g + 1 : g]);
  for (Dim d : out) axes.out.push_back(space.parallel(d));
  for (int a = 0; a < static_cast<int>(space.axes.size()); ++a) space.write.push_back(a);
  axes.in_channel = space.reduced(channels);
  for (Dim d : kernel) axes.kernel.push_back(space.reduced(d));
  space.reads = {{batch}, {}};
  if (group) {
    space.reads[0].push_back(*group);
    space.reads[1].push_back(*group);
  }
  space.reads[0].push_back(axes.in_channel);
  space.reads[1].push_back(channel_first ? axes.in_channel : out_channel);
  space.reads[1].push_back(channel_first ? out_channel : axes.in_channel);
  space.reads[1].insert(space.reads[1].end(), axes.kernel.begin(), axes.kernel.end());
  space.folds = {Fold::sum};
  return axes;
}

}  // namespace

Status conv_sum_space(InferCx& cx, Space& space) {
  const auto& a = cx.attrs<ConvAttrs>();
  const bool grouped = a.group != 1;
  FRAZIL_TRY(const ConvShapes c, conv_shapes(cx, grouped));
  FRAZIL_TRY(const auto list, windows(cx, c.spatial, c.kernel, a, Rounding::floor));
  const std::size_t g = grouped ? 1 : 0;
  FRAZIL_TRY(const Dim channels, cx.require_equal(cx.shape(0)[1 + g], cx.shape(1)[1 + g], "channels of X and W"));
  std::vector<Dim> out;
  for (const Window& w : list) out.push_back(w.out);
  const ConvAxes axes = add_conv_axes(cx, space, out, c.kernel, grouped, channels, false);
  Scope& s = cx.scope();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Window& w = list[i];
    space.reads[0].push_back(sliding(axes.out[i], axes.kernel[i], w.stride, w.dilation, s.sub(0, w.begin)));
  }
  return {};
}

namespace {

/// One spatial axis of a transposed convolution.
struct Spread {
  Dim out, begin;
};
Result<std::vector<Spread>> spreads(InferCx& cx, const ConvShapes& c, const ConvTransposeAttrs& a, const Ints& strides,
                                    const Ints& dilations) {
  const std::size_t n = c.spatial.size();
  FRAZIL_TRY(const Ints extra, per_axis(cx, a.output_padding, n, 0, "output_padding"));
  FRAZIL_CHECK(check_span(cx, extra, 0, "output_padding"));
  FRAZIL_CHECK(check_span(cx, a.output_shape, 0, "output_shape"));
  FRAZIL_TRY(const Ints pads, per_axis(cx, a.auto_pad == "NOTSET" ? a.pads : Ints{}, 2 * n, 0, "pads"));
  Ints wanted = a.output_shape;
  if (wanted.size() > n) wanted.erase(wanted.begin(), wanted.end() - static_cast<std::ptrdiff_t>(n));
  FRAZIL_TRY(wanted, per_axis(cx, wanted, n, 0, "output_shape"));
  Scope& s = cx.scope();
  std::vector<Spread> list;
  for (std::size_t i = 0; i < n; ++i) {
    const Dim in = s.floordiv(c.spatial[i], strides[i]), span = covered(s, c.kernel[i], dilations[i]);
    const Dim full = s.add(s.add(s.mul(s.sub(in, 1), strides[i]), span), extra[i]);
    if (a.output_shape.empty() && !is_same(a.auto_pad)) {
      list.push_back({s.sub(full, s.add(pads[i], pads[n + i])), pads[i]});
      continue;
    }
    const Dim out = a.output_shape.empty() ? s.mul(in, strides[i]) : Dim(wanted[i]);
    const Dim total = s.max(0, s.sub(full, out));
    list.push_back({out, a.auto_pad == "SAME_UPPER" ? s.floordiv(total, 2) : ceildiv(s, total, 2)});
  }
  return list;
}

}  // namespace

Status conv_transpose_sum_space(InferCx& cx, Space& space) {
  const auto& a = cx.attrs<ConvTransposeAttrs>();
  const bool grouped = a.group != 1;
  FRAZIL_TRY(const ConvShapes c, conv_shapes(cx, grouped));
  const std::size_t n = c.spatial.size(), g = grouped ? 1 : 0;
  FRAZIL_TRY(const Ints strides, per_axis(cx, a.strides, n, 1, "strides"));
  FRAZIL_TRY(const Ints dilations, per_axis(cx, a.dilations, n, 1, "dilations"));
  FRAZIL_CHECK(check_window_attrs(cx, strides, dilations, a));
  FRAZIL_CHECK(check_kernel(cx, c.kernel, a));
  FRAZIL_TRY(const auto list, spreads(cx, c, a, strides, dilations));
  FRAZIL_TRY(const Dim channels, cx.require_equal(cx.shape(0)[1 + g], cx.shape(1)[g], "channels of X and W"));
  std::vector<Dim> out;
  for (const Spread& p : list) out.push_back(p.out);
  const ConvAxes axes = add_conv_axes(cx, space, out, c.kernel, grouped, channels, true);
  for (std::size_t i = 0; i < n; ++i) {
    space.reads[0].push_back(sliding(axes.out[i], axes.kernel[i], 1, -dilations[i], list[i].begin));
  }
  return {};
}

// ---- composites ----

Expr conv_products(CompositeCx& cx, Expr x, Expr w, const ConvAttrs& a) {
  if (a.group < 1) {
    cx.error("group must be at least 1, got {}", a.group);
    return x;
  }
  if (a.group == 1) return ConvSum({x, w}, a);
  const Expr xs = SplitAxis({x}, {.axis = 1, .outer = a.group}), ws = SplitAxis({w}, {.axis = 0, .outer = a.group});
  return MergeAxes({ConvSum({xs, ws}, a)}, {.axis = 1, .count = 2});
}

namespace {

/// Returns y plus a bias per channel, in the operator's element type.
Expr with_bias(CompositeCx& cx, Expr y) {
  if (cx.has(2)) {
    const Expr bias = as_elem(fit(cx.in(2), "B", {extent(y, 1)}), compute_elem(cx.elem(0)));
    y = Add(y, append_unit_axes(cx, bias, cx.rank(0) - 2));
  }
  return as_elem(y, cx.elem(0));
}

bool is_conv(CompositeCx& cx, std::int64_t group) {
  if (cx.rank(0) < 3 || cx.rank(1) != cx.rank(0)) cx.error("X and W need the same number of axes, at least 3");
  if (group < 1) cx.error("group must be at least 1, got {}", group);
  return static_cast<bool>(cx.status());
}

/// Returns x with stride - 1 zeros after each element of the spatial axes from `first` on.
Expr stuffed(CompositeCx& cx, Expr x, std::size_t first, const Ints& strides) {
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] <= 1) continue;
    const auto axis = static_cast<std::int64_t>(first + i);
    const Expr apart = Unsqueeze(x, cx.ints({axis + 1}));
    const Expr padded = Pad(apart, cx.ints({0, strides[i] - 1}), cx.builder().absent(), cx.ints({axis + 1}));
    x = MergeAxes({padded}, {.axis = axis, .count = 2});
  }
  return x;
}

}  // namespace

void conv_body(CompositeCx& cx) {
  const auto& a = cx.attrs<ConvAttrs>();
  if (!is_conv(cx, a.group)) return;
  const Elem elem = cx.elem(0), wide = compute_elem(elem);
  if (wide != elem) {  // so that a kernel for wide types may run it
    const Expr bias = cx.has(2) ? as_elem(cx.in(2), wide) : cx.builder().absent();
    return cx.out(0, as_elem(Conv({as_elem(cx.in(0), wide), as_elem(cx.in(1), wide), bias}, a), elem));
  }
  cx.out(0, with_bias(cx, conv_products(cx, cx.in(0), cx.in(1), a)));
}

void conv_transpose_body(CompositeCx& cx) {
  const auto& a = cx.attrs<ConvTransposeAttrs>();
  if (!is_conv(cx, a.group)) return;
  const Elem elem = cx.elem(0), wide = compute_elem(elem);
  Expr x = as_elem(cx.in(0), wide), w = as_elem(cx.in(1), wide);
  if (wide != elem) {
    const Expr bias = cx.has(2) ? as_elem(cx.in(2), wide) : cx.builder().absent();
    return cx.out(0, as_elem(ConvTranspose({x, w, bias}, a), elem));
  }
  const bool grouped = a.group != 1;
  if (grouped) {
    x = SplitAxis({x}, {.axis = 1, .outer = a.group});
    w = SplitAxis({w}, {.axis = 0, .outer = a.group});
  }
  if (a.strides.size() > cx.rank(0) - 2) {
    return cx.error("strides has {} entries, expected {}", a.strides.size(), cx.rank(0) - 2);
  }
  Expr y = ConvTransposeSum({stuffed(cx, x, grouped ? 3 : 2, a.strides), w}, a);
  if (grouped) y = MergeAxes({y}, {.axis = 1, .count = 2});
  cx.out(0, with_bias(cx, y));
}

}  // namespace frazil::ops
