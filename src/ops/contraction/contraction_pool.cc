#include <algorithm>
#include <ranges>

#include "ops/contraction/window.h"
#include "ops/core/compose.h"
#include "ops/core/rules.h"
#include "ops/elementwise/math.h"
#include "ops/view/view.h"
#include "sym/saturate.h"

namespace frazil::ops {
namespace {

/// The indices at which a pool reads X.
struct PoolAxes {
  std::vector<Ix> kept;     ///< batch and channel
  std::vector<Ix> spatial;  ///< index into each spatial axis of X
};

Result<std::vector<Dim>> kernel_dims(InferCx& cx, const PoolAttrs& a) {
  if (cx.rank(0) < 3) return cx.error("X needs at least 3 axes, got {}", cx.type_str(0));
  if (a.kernel_shape.size() != cx.rank(0) - 2) {
    return cx.error("kernel_shape has {} entries, expected {}", a.kernel_shape.size(), cx.rank(0) - 2);
  }
  FRAZIL_CHECK(check_span(cx, a.kernel_shape, 1, "kernel_shape"));
  return std::vector<Dim>(a.kernel_shape.begin(), a.kernel_shape.end());
}

Rounding rounding_of(const PoolAttrs& a) { return a.ceil_mode != 0 ? Rounding::ceil : Rounding::truncate; }

std::span<const Dim> spatial_dims(InferCx& cx) { return std::span(cx.shape(0)).subspan(2); }

/// Adds the spatial axes of `list` and returns the indices into X.
std::vector<Ix> add_windows(InferCx& cx, Space& space, std::span<const Window> list) {
  std::vector<Ix> out, index;
  for (const Window& w : list) {
    space.write.push_back(static_cast<int>(space.axes.size()));
    out.push_back(space.parallel(w.out));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Window& w = list[i];
    index.push_back(sliding(out[i], space.reduced(w.kernel), w.stride, w.dilation, cx.scope().sub(0, w.begin)));
  }
  return index;
}

Result<PoolAxes> add_pool(InferCx& cx, Space& space, const PoolAttrs& a) {
  FRAZIL_TRY(const std::vector<Dim> kernel, kernel_dims(cx, a));
  FRAZIL_TRY(const auto list, windows(cx, spatial_dims(cx), kernel, a, rounding_of(a)));
  PoolAxes axes{{space.parallel(cx.shape(0)[0]), space.parallel(cx.shape(0)[1])}, {}};
  space.write = {0, 1};
  axes.spatial = add_windows(cx, space, list);
  space.reads = {axes.kept};
  space.reads[0].insert(space.reads[0].end(), axes.spatial.begin(), axes.spatial.end());
  return axes;
}

/// Adds ix * factor to `sum`.
void add_scaled(Scope& s, Ix& sum, const Ix& ix, Dim factor) {
  sum.offset = s.add(sum.offset, s.mul(ix.offset, factor));
  for (const auto& [axis, f] : ix.terms) sum.terms.emplace_back(axis, s.mul(f, factor));
}

/// Returns the position in X as one number. The order is batch, channel, spatial axes; the last spatial axis is the
/// fastest, or with `columns` the first.
Ix flat_position(InferCx& cx, const PoolAxes& axes, bool columns) {
  Scope& s = cx.scope();
  const auto spatial = spatial_dims(cx);
  const std::size_t n = spatial.size();
  Ix flat;
  Dim factor = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t d = columns ? i : n - 1 - i;
    add_scaled(s, flat, axes.spatial[d], factor);
    factor = s.mul(factor, spatial[d]);
  }
  add_scaled(s, flat, axes.kept[1], factor);
  add_scaled(s, flat, axes.kept[0], s.mul(factor, cx.shape(0)[1]));
  return flat;
}

}  // namespace

Status max_pool_space(InferCx& cx, Space& space) {
  const auto& a = cx.attrs<MaxPoolAttrs>();
  FRAZIL_TRY(const PoolAxes axes, add_pool(cx, space, a));
  space.folds = {Fold::max};
  if (!cx.wants(1)) return {};
  space.folds.push_back(Fold::argmax);
  space.report = flat_position(cx, axes, a.storage_order != 0);
  return {};
}

Status sum_pool_space(InferCx& cx, Space& space) {
  FRAZIL_CHECK(add_pool(cx, space, cx.attrs<AveragePoolAttrs>()));
  space.folds = {Fold::sum};
  return {};
}

Status power_pool_space(InferCx& cx, Space& space) {
  FRAZIL_CHECK(add_pool(cx, space, cx.attrs<LpPoolAttrs>()));
  space.folds = {Fold::sum};
  return {};
}

/// Counts for the first image only, because all images have the same counts.
Status count_pool_space(InferCx& cx, Space& space) {
  const auto& a = cx.attrs<AveragePoolAttrs>();
  const bool padded = a.count_include_pad != 0;
  FRAZIL_TRY(const std::vector<Dim> kernel, kernel_dims(cx, a));
  std::vector<Dim> in(spatial_dims(cx).begin(), spatial_dims(cx).end());
  const std::size_t n = in.size();
  FRAZIL_TRY(const Ints pads, per_axis(cx, a.pads, 2 * n, 0, "pads"));
  for (std::size_t i = 0; i < n && padded; ++i) in[i] = cx.scope().sub(in[i], cx.scope().add(pads[i], pads[n + i]));
  FRAZIL_TRY(auto list, windows(cx, in, kernel, a, rounding_of(a)));
  for (Window& w : list) w.begin = padded ? Dim(0) : w.begin;
  space.write = {-1, -1};
  const std::vector<Ix> spatial = add_windows(cx, space, list);
  space.reads = {{Ix{}, Ix{}}};
  space.reads[0].insert(space.reads[0].end(), spatial.begin(), spatial.end());
  space.folds = {Fold::sum};
  return {};
}

// ---- composites ----

namespace {

std::vector<std::int64_t> spatial_axes(CompositeCx& cx) {
  std::vector<std::int64_t> axes;
  for (std::size_t d = 2; d < cx.rank(0); ++d) axes.push_back(static_cast<std::int64_t>(d));
  return axes;
}

/// Returns true if a window may be larger than axis `i` of the padded image but is counted nevertheless.
bool may_be_cut(CompositeCx& cx, const Shape& image, const PoolAttrs& a, std::size_t i) {
  const std::size_t n = a.kernel_shape.size();
  if (a.strides.size() != n || a.strides[i] == 1) return false;
  const bool padded = a.auto_pad == "NOTSET" && a.pads.size() == 2 * n;
  const std::int64_t pads = padded ? sym::sat_add(a.pads[i], a.pads[n + i]) : 0;
  const std::int64_t dilation = a.dilations.size() == n ? a.dilations[i] : 1;
  const std::int64_t reach =
      sym::sat_mul(sym::sat_sub(a.kernel_shape[i], 1), dilation);  // from the first position to the last
  return sym::sat_add(cx.builder().graph().scope().bounds(image[i + 2]).min, pads) <= reach;
}

/// Returns true if windows may extend past the end of the padded image.
bool may_pass_end(CompositeCx& cx, const Shape& image, const PoolAttrs& a) {
  if (a.auto_pad != "NOTSET" && a.auto_pad != "VALID") return false;
  if (a.ceil_mode != 0 && a.auto_pad == "NOTSET") return true;
  const auto axes = std::views::iota(std::size_t{0}, std::min(a.kernel_shape.size(), image.size() - 2));
  return std::ranges::any_of(axes, [&](std::size_t i) { return may_be_cut(cx, image, a, i); });
}

/// Returns the divisor of each window's sum.
Expr window_counts(CompositeCx& cx, Expr x, Elem wide) {
  const auto& a = cx.attrs<AveragePoolAttrs>();
  if (a.count_include_pad == 0) return Max2(CountPool({x}, a), cx.number(wide, 1));
  if (cx.rank(0) > 2 && may_pass_end(cx, x.type().shape, a)) {
    const bool as_it_is = a.pads.empty() || a.auto_pad != "NOTSET";
    const Expr padded = as_it_is ? x : Pad(x, cx.ints(a.pads), cx.builder().absent(), cx.ints(spatial_axes(cx)));
    return Max2(CountPool({padded}, a), cx.number(wide, 1));
  }
  double volume = 1;
  for (std::int64_t k : a.kernel_shape) volume *= static_cast<double>(k);
  return cx.number(wide, volume);
}

/// Returns x to the power 1 / p.
Expr root(CompositeCx& cx, Expr x, Elem elem, std::int64_t p) {
  if (p == 1) return x;
  return p == 2 ? Sqrt(x) : Pow(x, cx.number(elem, 1.0 / static_cast<double>(p)));
}

bool is_norm(CompositeCx& cx, std::int64_t p) {
  if (p < 1) cx.error("p must be at least 1, got {}", p);
  return static_cast<bool>(cx.status());
}

}  // namespace

void average_pool_body(CompositeCx& cx) {
  const auto& a = cx.attrs<AveragePoolAttrs>();
  const Elem wide = compute_elem(cx.elem(0));
  const Expr x = as_elem(cx.in(0), wide);
  cx.out(0, as_elem(Div(SumPool({x}, a), window_counts(cx, x, wide)), cx.elem(0)));
}

Sx power_of(Sx x, std::int64_t p) {
  if (p == 1) return abs(x);
  return p == 2 ? x * x : pow(abs(x), static_cast<double>(p));
}

void lp_pool_body(CompositeCx& cx) {
  const auto& a = cx.attrs<LpPoolAttrs>();
  if (!is_norm(cx, a.p)) return;
  const Elem wide = compute_elem(cx.elem(0));
  cx.out(0, as_elem(root(cx, PowerPool({as_elem(cx.in(0), wide)}, a), wide, a.p), cx.elem(0)));
}

void global_average_pool_body(CompositeCx& cx) {
  if (is_image(cx)) cx.out(0, ReduceMean(cx.in(0), cx.ints(spatial_axes(cx))));
}

void global_max_pool_body(CompositeCx& cx) {
  if (is_image(cx)) cx.out(0, ReduceMax(cx.in(0), cx.ints(spatial_axes(cx))));
}

void global_lp_pool_body(CompositeCx& cx) {
  const std::int64_t p = cx.attrs<GlobalLpPoolAttrs>().p;
  if (!is_image(cx) || !is_norm(cx, p)) return;
  const Elem wide = compute_elem(cx.elem(0));
  const Expr x = as_elem(cx.in(0), wide), axes = cx.ints(spatial_axes(cx));
  const Expr powers = p == 2 ? Mul(x, x) : p == 1 ? Abs(x) : Pow(Abs(x), cx.number(wide, static_cast<double>(p)));
  cx.out(0, as_elem(root(cx, ReduceSum(powers, axes), wide, p), cx.elem(0)));
}

// ---- LRN ----

Status channel_squares_space(InferCx& cx, Space& space) {
  const std::int64_t size = cx.attrs<LrnAttrs>().size;
  if (cx.rank(0) < 2) return cx.error("X needs at least 2 axes, got {}", cx.type_str(0));
  FRAZIL_CHECK(check_span(cx, {size}, 1, "size"));
  space.reads.resize(1);
  for (Dim d : cx.shape(0)) {
    space.write.push_back(static_cast<int>(space.axes.size()));
    space.reads[0].push_back(space.parallel(d));
  }
  space.reads[0][1] = sliding(space.reads[0][1], space.reduced(size), 1, 1, Dim(-((size - 1) / 2)));
  space.folds = {Fold::sum};
  return {};
}

void lrn_body(CompositeCx& cx) {
  const auto& a = cx.attrs<LrnAttrs>();
  const Elem wide = compute_elem(cx.elem(0));
  const Expr x = as_elem(cx.in(0), wide);
  const Expr mean = Mul(ChannelSquares({x}, a), cx.number(wide, double{a.alpha} / static_cast<double>(a.size)));
  const Expr base = Add(mean, cx.number(wide, a.bias));
  cx.out(0, as_elem(Div(x, Pow(base, cx.number(wide, a.beta))), cx.elem(0)));
}

}  // namespace frazil::ops
