#include <algorithm>
#include <ranges>

#include "kernel/move/index.h"
#include "ops/core/move.h"
#include "ops/core/numbers.h"
#include "ops/core/rules.h"
#include "ops/image/sampling.h"

// Resize. Every axis is resampled separately, with a table of taps per output position.
namespace frazil::ops {
namespace {

constexpr double kLargestCoordinate = 1e15;  // exceeds any extent that fits into memory
constexpr std::string_view kTransforms[] = {"half_pixel",          "half_pixel_symmetric", "pytorch_half_pixel",
                                            "align_corners",       "asymmetric",           "tf_crop_and_resize",
                                            "tf_half_pixel_for_nn"};

/// Returns the axes that roi, scales and sizes refer to.
std::vector<std::size_t> resized_axes(const ResizeAttrs& a, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (std::int64_t axis : a.axes) axes.push_back(from_front(axis, rank));
  for (std::size_t d = 0; a.axes.empty() && d < rank; ++d) axes.push_back(d);
  return axes;
}

/// Returns a common scale for all axes. Every extent becomes at most (or at least) the requested size.
double common_scale(std::span<const std::int64_t> in, std::span<const std::int64_t> sizes, const ResizeAttrs& a) {
  const auto axes = resized_axes(a, in.size());
  const bool larger = a.keep_aspect_ratio_policy == "not_smaller";
  double scale = 0;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const double s = in[axes[k]] == 0 ? 1 : static_cast<double>(sizes[k]) / static_cast<double>(in[axes[k]]);
    scale = k == 0 ? s : larger ? std::max(scale, s) : std::min(scale, s);
  }
  return scale;
}

std::int64_t scaled(std::int64_t extent, float scale) {
  const double value = std::floor(static_cast<double>(extent) * static_cast<double>(scale));
  return static_cast<std::int64_t>(value < kLargestCoordinate ? std::max(value, -1.0) : kLargestCoordinate);
}
std::int64_t nearest_extent(std::int64_t extent, double scale) {
  return static_cast<std::int64_t>(std::clamp(static_cast<double>(extent) * scale + 0.5, -1.0, kLargestCoordinate));
}

/// Returns floor(d * scale) if it is a symbolic expression in d.
std::optional<Dim> scaled_dim(Scope& scope, Dim d, float scale) {
  if (d.is_const()) return Dim(scaled(d.value(), scale));
  if (scale == 1) return d;
  if (scale == std::floor(scale)) return scope.mul(d, scaled(1, scale));
  const float inverse = std::min(1 / scale, static_cast<float>(kLargestCoordinate));
  const bool exact =
      inverse == std::floor(inverse) && 1 / inverse == scale && std::exp2(std::round(std::log2(scale))) == scale;
  return exact ? std::optional(scope.floordiv(d, static_cast<std::int64_t>(inverse))) : std::nullopt;
}

Status check_choices(InferCx& cx) {
  const auto& a = cx.attrs<ResizeAttrs>();
  const auto one_of = [](std::string_view value, std::initializer_list<std::string_view> known) {
    return std::ranges::find(known, value) != known.end();
  };
  if (!one_of(a.mode, {"nearest", "linear", "cubic"})) return cx.error("unknown mode '{}'", a.mode);
  if (!one_of(a.nearest_mode, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})) {
    return cx.error("unknown nearest_mode '{}'", a.nearest_mode);
  }
  if (!one_of(a.keep_aspect_ratio_policy, {"stretch", "not_larger", "not_smaller"})) {
    return cx.error("unknown keep_aspect_ratio_policy '{}'", a.keep_aspect_ratio_policy);
  }
  if (std::ranges::find(kTransforms, a.coordinate_transformation_mode) == std::end(kTransforms)) {
    return cx.error("unknown coordinate_transformation_mode '{}'", a.coordinate_transformation_mode);
  }
  const bool numeric = contains(elems::kNumeric, cx.elem(0));
  if (a.mode != "nearest" && !numeric)
    return cx.unsupported("mode '{}' of {} is not available", a.mode, name_of(cx.elem(0)));
  if (a.coordinate_transformation_mode == "tf_crop_and_resize" && (!cx.has(1) || !numeric)) {
    return cx.error("tf_crop_and_resize needs input 'roi' and numbers");
  }
  return {};
}

/// Sets the output extents from `scales`.
Status apply_scales(InferCx& cx, std::span<const std::size_t> axes, Shape& shape) {
  const Tensor* scales = cx.constant(2);
  if (scales && static_cast<std::size_t>(scales->count()) != axes.size()) {
    return cx.error("input 'scales' must have {} elements, got {}", axes.size(), cx.type_str(2));
  }
  for (std::size_t k = 0; k < axes.size(); ++k) {
    Dim& d = shape[axes[k]];
    std::optional<Dim> known;
    if (scales) {
      const auto scale = static_cast<float>(scales->number_at(static_cast<std::int64_t>(k)));
      if (!(scale > 0)) return cx.error("input 'scales' must be positive, got {}", scale);
      known = scaled_dim(cx.scope(), d, scale);
    }
    d = known ? *known : cx.data_extent(0, static_cast<int>(axes[k]));
  }
  return {};
}

/// Sets the output extents from `sizes`.
Status apply_sizes(InferCx& cx, std::span<const std::size_t> axes, Shape& shape) {
  const auto& a = cx.attrs<ResizeAttrs>();
  FRAZIL_TRY(const std::vector<Dim> sizes, cx.ints(3, axes.size()));
  if (sizes.size() != axes.size())
    return cx.error("input 'sizes' must have {} elements, got {}", axes.size(), sizes.size());
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    FRAZIL_CHECK(require_at_least(cx, sizes[k], 0, fmt::format("sizes[{}]", k)));
  }
  const bool stretch = a.keep_aspect_ratio_policy == "stretch";
  const auto fixed = [](Dim d) { return d.is_const(); };
  if (!stretch && std::ranges::all_of(shape, fixed) && std::ranges::all_of(sizes, fixed)) {
    Sizes in, asked;
    for (Dim d : shape) in.push_back(d.value());
    for (Dim d : sizes) asked.push_back(d.value());
    const double scale = common_scale(in, asked, a);
    for (std::size_t axis : axes) shape[axis] = nearest_extent(in[axis], scale);
    return {};
  }
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const Dim asked = sizes[k].is_const() ? sizes[k] : cx.scope().max(sizes[k], 0);
    shape[axes[k]] = stretch ? asked : cx.data_extent(0, static_cast<int>(axes[k]));
  }
  return {};
}

bool has_elements(InferCx& cx, std::size_t i) { return cx.has(i) && !(cx.rank(i) == 1 && cx.shape(i)[0] == Dim(0)); }

}  // namespace

Status resize_types(InferCx& cx) {
  const auto& a = cx.attrs<ResizeAttrs>();
  FRAZIL_CHECK(check_choices(cx));
  for (std::int64_t axis : a.axes) {
    FRAZIL_TRY(const int checked, cx.axis(axis, cx.rank(0), "axes"));
    (void)checked;
  }
  const auto axes = resized_axes(a, cx.rank(0));
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (std::count(axes.begin(), axes.end(), axes[k]) > 1) return cx.error("axes names axis {} twice", axes[k]);
  }
  Shape shape = cx.shape(0);
  const bool by_scale = has_elements(cx, 2);
  if (by_scale == has_elements(cx, 3)) return cx.error("exactly one of inputs 'scales' and 'sizes' must be given");
  FRAZIL_CHECK(by_scale ? apply_scales(cx, axes, shape) : apply_sizes(cx, axes, shape));
  cx.out(0, Type::tensor(cx.elem(0), std::move(shape)));
  return {};
}

namespace {

/// The parameters for resampling one axis.
struct AxisJob {
  std::int64_t in = 1, out = 1;
  double scale = 1, roi_start = 0, roi_end = 1;
};

/// Returns the input coordinate of output position i.
double place_of(const AxisJob& j, std::string_view transform, std::int64_t i) {
  const auto x = static_cast<double>(i), in = static_cast<double>(j.in), out = j.scale * in;
  if (transform == "asymmetric") return x / j.scale;
  if (transform == "align_corners") return j.out == 1 || out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (transform == "tf_half_pixel_for_nn") return (x + 0.5) / j.scale;
  if (transform == "pytorch_half_pixel") return j.out == 1 ? 0 : (x + 0.5) / j.scale - 0.5;
  if (transform == "tf_crop_and_resize") {
    const double start = j.roi_start * (in - 1), reach = (j.roi_end - j.roi_start) * (in - 1);
    return j.out == 1 ? start + reach / 2 : start + x * reach / (out - 1);
  }
  const double centred = (x + 0.5) / j.scale - 0.5;
  return transform == "half_pixel_symmetric" ? in / 2 * (1 - static_cast<double>(j.out) / out) + centred : centred;
}

struct Tap {
  std::int64_t at;
  double weight;
};
/// The taps of one output position. Empty taps mean a position outside of the input: it takes the extrapolation value.
using Taps = std::vector<Tap>;

std::int64_t nearest_place(double x, std::string_view mode) {
  if (mode == "floor") return static_cast<std::int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<std::int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(x + 0.5));
  return static_cast<std::int64_t>(std::ceil(x - 0.5));
}

/// Returns the taps around coordinate x with their weights. Taps beyond the edges are repeated or dropped.
Taps filter_taps(const AxisJob& j, const ResizeAttrs& a, double x) {
  const bool cubic = a.mode == "cubic";
  const double scale = a.antialias != 0 ? std::min(j.scale, 1.0) : 1.0, radius = (cubic ? 2 : 1) / scale;
  const auto base = static_cast<std::int64_t>(std::floor(x));
  const auto reach = static_cast<std::int64_t>(std::ceil(radius));
  Taps taps;
  double total = 0;
  for (std::int64_t at = base - reach + 1; at <= base + reach; ++at) {
    const double distance = (static_cast<double>(at) - x) * scale;
    const double weight = cubic ? cubic_weight(distance, a.cubic_coeff_a) : std::max(0.0, 1 - std::abs(distance));
    if (a.exclude_outside != 0 && (at < 0 || at >= j.in)) continue;
    taps.push_back({std::clamp<std::int64_t>(at, 0, j.in - 1), weight});
    total += weight;
  }
  if ((a.antialias != 0 || a.exclude_outside != 0) && total != 0) {
    for (Tap& tap : taps) tap.weight /= total;
  }
  return taps;
}

std::vector<Taps> axis_taps(const AxisJob& j, const ResizeAttrs& a) {
  std::vector<Taps> table;
  for (std::int64_t i = 0; i < j.out; ++i) {
    const double x = place_of(j, a.coordinate_transformation_mode, i);
    const bool crop = a.coordinate_transformation_mode == "tf_crop_and_resize";
    if (crop && !(x >= 0 && x <= static_cast<double>(j.in - 1))) {
      table.emplace_back();
    } else if (a.mode == "nearest") {
      table.push_back({{std::clamp<std::int64_t>(nearest_place(x, a.nearest_mode), 0, j.in - 1), 1}});
    } else {
      table.push_back(filter_taps(j, a, x));
    }
  }
  return table;
}

/// Resamples x along `axis`. The result is incomplete if the run must stop.
std::vector<double> resample(std::span<const double> x, const AxisSplit& s, std::span<const Taps> table,
                             double outside) {
  const auto inner = static_cast<std::size_t>(s.inner);
  std::vector<double> y(static_cast<std::size_t>(s.outer) * table.size() * inner);
  double* to = y.data();
  PollThrottle throttle;
  for (std::int64_t o = 0; o < s.outer; ++o) {
    const double* const from = x.data() + o * s.extent * s.inner;
    for (const Taps& taps : table) {
      if (throttle.stop(s.inner * static_cast<std::int64_t>(2 + 2 * taps.size()))) return y;
      if (taps.empty()) std::fill_n(to, inner, outside);
      if (inner == 1) {
        double sum = *to;
        for (const Tap& t : taps) sum += t.weight * from[t.at];
        *to++ = sum;
        continue;
      }
      for (const Tap& t : taps) {
        const double* const line = from + t.at * s.inner;
        for (std::size_t i = 0; i < inner; ++i) to[i] += t.weight * line[i];
      }
      to += inner;
    }
  }
  return y;
}

/// Makes the jobs of all axes from the inputs.
Result<std::vector<AxisJob>> axis_jobs(const OpaqueCall& call) {
  const auto& a = call.attrs<ResizeAttrs>();
  const auto in = call.in(0).sizes;
  const auto axes = resized_axes(a, in.size());
  std::vector<AxisJob> jobs;
  for (std::int64_t extent : in) jobs.push_back({extent, extent});
  const bool by_scale = call.has(2) && call.in(2).count() > 0;
  if (!by_scale && !call.has(3)) return fail(Code::bad_input, "input 'scales' has no elements");
  const TensorView given = call.in(by_scale ? 2 : 3);
  const auto roi = call.has(1) ? to_numbers(call.in(1)) : std::vector<double>{};
  const bool crop = a.coordinate_transformation_mode == "tf_crop_and_resize";
  if (static_cast<std::size_t>(given.count()) != axes.size() || (crop && roi.size() != 2 * axes.size())) {
    return fail(Code::bad_input, "inputs 'roi', 'scales' and 'sizes' must describe {} axes", axes.size());
  }
  const bool stretch = by_scale || a.keep_aspect_ratio_policy == "stretch";
  const double common = stretch ? 1 : common_scale(in, given.as<std::int64_t>(), a);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    AxisJob& j = jobs[axes[k]];
    if (by_scale) {
      j.scale = given.as<float>()[k];
      j.out = scaled(j.in, given.as<float>()[k]);
    } else {
      j.out = stretch ? given.as<std::int64_t>()[k] : nearest_extent(j.in, common);
      j.scale = stretch ? static_cast<double>(j.out) / static_cast<double>(std::max<std::int64_t>(j.in, 1)) : common;
    }
    if (!(j.scale > 0) || j.out < 0 || (j.in == 0 && j.out > 0)) {
      return fail(Code::bad_input, "axis {} of {} elements cannot be resized to {}", axes[k], j.in, j.out);
    }
    if (crop) j.roi_start = roi[k], j.roi_end = roi[k + axes.size()];
  }
  return jobs;
}

/// Resizes with mode nearest, without extrapolation. Copies elements of any type row by row, a repeated row from the
/// previous one.
void move_nearest(const TensorView& x, std::span<const std::vector<Taps>> tables, std::span<const std::int64_t> sizes,
                  std::byte* out) {
  const auto width = static_cast<std::int64_t>(byte_size(x.elem));
  if (sizes.empty()) return move_elements(x.elem, out, x.data, 1);
  const std::size_t last = sizes.size() - 1;
  std::vector<std::int64_t> places;
  for (const Taps& taps : tables[last]) places.push_back(taps[0].at);
  const std::int64_t length = sizes[last], rows = product(sizes.first(last));
  const bool whole = length == x.sizes[last] && std::ranges::equal(places, std::views::iota(std::int64_t{0}, length));
  std::int64_t before = -1;
  PollThrottle throttle;
  for (std::int64_t row = 0; row < rows && !throttle.stop(1 + length); ++row, out += length * width) {
    std::int64_t rest = row, from = 0, factor = x.sizes[last];
    for (std::size_t d = last; d-- > 0; rest /= sizes[d]) {
      from += tables[d][static_cast<std::size_t>(rest % sizes[d])][0].at * factor;
      factor *= x.sizes[d];
    }
    const std::byte* const line = x.data + from * width;
    if (from == before) {
      move_elements(x.elem, out, out - length * width, length);
    } else if (whole) {
      move_elements(x.elem, out, line, length);
    } else if (x.elem == Elem::string) {
      for (std::int64_t i = 0; i < length; ++i) {
        move_elements(x.elem, out + i * width, line + places[static_cast<std::size_t>(i)] * width, 1);
      }
    } else {
      kernel::gather(out, line, 1, x.sizes[last], width, places.data(), length);
    }
    before = from;
  }
}

/// Resamples each axis that has a table. Handles one item of the leading axes at a time, to keep intermediate results
/// small.
void resize_items(const TensorView& x, std::span<const std::vector<Taps>> tables, std::span<const std::int64_t> sizes,
                  double outside, std::byte* out) {
  const auto first =
      static_cast<std::size_t>(std::ranges::find_if(tables, [](const auto& t) { return !t.empty(); }) - tables.begin());
  const auto width = static_cast<std::int64_t>(byte_size(x.elem));
  const std::int64_t items = product(sizes.first(first));
  TensorView item{x.elem, x.sizes.subspan(first), x.data};
  for (std::int64_t k = 0; k < items && !stop_requested(); ++k) {
    std::vector<double> y = to_numbers(item);
    Sizes now(item.sizes.begin(), item.sizes.end());
    for (std::size_t d = now.size(); d-- > 0;) {
      if (tables[first + d].empty()) continue;
      y = resample(y, AxisSplit(now, d), tables[first + d], outside);
      if (stop_requested()) return;
      now[d] = sizes[first + d];
    }
    from_numbers(x.elem, out, y);
    item.data += item.count() * width;
    out += product(now) * width;
  }
}

}  // namespace

Status resize_run(OpaqueCall& call) {
  const auto& a = call.attrs<ResizeAttrs>();
  const TensorView x = call.in(0);
  FRAZIL_TRY(const std::vector<AxisJob> jobs, axis_jobs(call));
  Sizes sizes;
  std::vector<std::vector<Taps>> tables;
  for (const AxisJob& j : jobs) sizes.push_back(j.out);
  FRAZIL_TRY(std::byte * out, call.out(0, sizes));
  if (product(sizes) == 0) return {};
  for (const AxisJob& j : jobs) tables.push_back(axis_taps(j, a));
  const bool crop = a.coordinate_transformation_mode == "tf_crop_and_resize";
  if (a.mode == "nearest" && !crop) {
    move_nearest(x, tables, sizes, out);
    return {};
  }
  for (std::size_t d = 0; d < jobs.size() && !crop; ++d) {
    if (jobs[d].in == jobs[d].out && jobs[d].scale == 1) tables[d].clear();
  }
  resize_items(x, tables, sizes, a.extrapolation_value, out);
  return {};
}

}  // namespace frazil::ops
