#include <algorithm>
#include <cmath>

#include "ops/core/numbers.h"
#include "ops/core/rules.h"
#include "ops/image/sample.h"
#include "tensor/strided.h"

// RoiAlign, MaxRoiPool
namespace frazil::ops {
namespace {

/// Requires X to be images and rois to be rows of `columns` numbers.
Status check_regions(InferCx& cx, std::int64_t columns) {
  if (cx.rank(0) != 4) return cx.error("input 'X' must have 4 axes, got {}", cx.type_str(0));
  if (cx.rank(1) != 2) return cx.error("input 'rois' must have 2 axes, got {}", cx.type_str(1));
  FRAZIL_CHECK(cx.require_equal(cx.shape(1)[1], columns, "numbers of a region in 'rois'"));
  return {};
}

/// Returns the maximum, where NaN is the largest number.
double larger(double a, double b) { return a > b || std::isnan(a) ? a : b; }

}  // namespace

// ---- RoiAlign ----

Status roi_align_types(InferCx& cx) {
  const auto& a = cx.attrs<RoiAlignAttrs>();
  if (a.mode != "avg" && a.mode != "max") return cx.error("unknown mode '{}'", a.mode);
  if (a.coordinate_transformation_mode != "half_pixel" && a.coordinate_transformation_mode != "output_half_pixel") {
    return cx.error("unknown coordinate_transformation_mode '{}'", a.coordinate_transformation_mode);
  }
  FRAZIL_CHECK(check_regions(cx, 4));
  FRAZIL_CHECK(check_span(cx, {a.output_height}, 1, "output_height"));
  FRAZIL_CHECK(check_span(cx, {a.output_width}, 1, "output_width"));
  FRAZIL_CHECK(check_span(cx, {a.sampling_ratio}, 0, "sampling_ratio"));
  if (cx.rank(2) != 1) return cx.error("input 'batch_indices' must have 1 axis, got {}", cx.type_str(2));
  FRAZIL_TRY(const Dim regions, cx.require_equal(cx.shape(1)[0], cx.shape(2)[0], "extent of 'batch_indices'"));
  cx.out(0, Type::tensor(cx.elem(0), {regions, cx.shape(0)[1], a.output_height, a.output_width}));
  return {};
}

namespace {

/// The samples along one axis of an output cell.
struct Samples {
  double first, step;  ///< sample i is at first + i * step
  double count;        ///< number of samples
  double begin, end;   ///< range of samples that may be inside the image
};

/// A region along one axis, in pixels.
struct Region1D {
  double start, extent;
  std::int64_t parts, pixels;

  Samples samples(std::int64_t part, std::int64_t ratio) const {
    const double size = extent / static_cast<double>(parts);
    Samples s{};
    s.count = ratio > 0 ? static_cast<double>(ratio) : std::ceil(size);
    constexpr double kExact = 1ll << 52;  // beyond this, positions are not distinguishable
    if (!(s.count > 0)) return {};
    s.step = size / s.count;
    s.first = start + static_cast<double>(part) * size + s.step / 2;
    if (!(s.count < kExact) || !std::isfinite(s.first) || !std::isfinite(s.step)) return s;  // no sample is inside
    s.end = s.count;
    if (s.step > 0) {
      s.begin = std::clamp(std::floor((-1 - s.first) / s.step), 0.0, s.count);
      s.end = std::clamp(std::ceil((static_cast<double>(pixels) - s.first) / s.step) + 1, s.begin, s.count);
    }
    return s;
  }
};

/// The two pixels around a position.
struct Between {
  std::int64_t low = 0, high = 0;
  double to_low = 0, to_high = 0;
  bool inside = false;
};

Between between(double place, std::int64_t pixels) {
  if (!(place >= -1 && place <= static_cast<double>(pixels)) || pixels == 0) return {};
  const double held = std::max(place, 0.0);
  const auto low = static_cast<std::int64_t>(held);
  if (low >= pixels - 1) return {pixels - 1, pixels - 1, 1, 0, true};
  const double part = held - static_cast<double>(low);
  return {low, low + 1, 1 - part, part, true};
}

struct RoiJob {
  bool maximum;
  std::int64_t ratio;
  Region1D y, x;

  /// Computes one output cell of a region of `plane`. The maximum is taken over weighted corners, as ONNX specifies.
  template <class T>
  double part(const T* plane, std::int64_t row, std::int64_t column, PollThrottle& throttle) const {
    const Samples down = y.samples(row, ratio), across = x.samples(column, ratio);
    const bool partial = down.end - down.begin < down.count || across.end - across.begin < across.count;
    double sum = 0, most = partial ? 0 : -std::numeric_limits<double>::infinity();
    for (double i = down.begin; i < down.end; ++i) {
      const Between v = between(down.first + i * down.step, y.pixels);
      for (double j = across.begin; j < across.end; ++j) {
        if (throttle.stop(8)) return 0;
        const Between h = between(across.first + j * across.step, x.pixels);
        if (!v.inside || !h.inside) {
          most = larger(most, 0);
          continue;
        }
        const auto corner = [&](std::int64_t r, std::int64_t c, double weight) {
          return weight * to_number(plane[r * x.pixels + c]);
        };
        const double corners[] = {
            corner(v.low, h.low, v.to_low * h.to_low), corner(v.low, h.high, v.to_low * h.to_high),
            corner(v.high, h.low, v.to_high * h.to_low), corner(v.high, h.high, v.to_high * h.to_high)};
        for (double value : corners) sum += value, most = larger(most, value);
      }
    }
    if (!maximum) return sum / std::max(down.count * across.count, 1.0);
    return down.count * across.count > 0 ? most : 0;
  }
};

/// Returns region `r` of rois along one axis. Its coordinates are in columns `from` and from + 2.
Region1D region(const TensorView& rois, std::int64_t r, std::int64_t from, const RoiAlignAttrs& a, std::int64_t parts,
                std::int64_t pixels) {
  const bool half = a.coordinate_transformation_mode == "half_pixel";
  const double scale = a.spatial_scale, shift = half ? 0.5 : 0;
  const double start = number_at(rois, r * 4 + from) * scale - shift,
               end = number_at(rois, r * 4 + from + 2) * scale - shift;
  return {start, half ? end - start : std::max(end - start, 1.0), parts, pixels};
}

}  // namespace

Status roi_align_run(OpaqueCall& call) {
  const TensorView x = call.in(0), rois = call.in(1), batch = call.in(2);
  const auto& a = call.attrs<RoiAlignAttrs>();
  const Sizes sizes{rois.sizes[0], x.sizes[1], a.output_height, a.output_width};
  FRAZIL_TRY(std::byte* const y, call.out(0, sizes));
  const std::int64_t pixels = x.sizes[2] * x.sizes[3];
  PollThrottle throttle;
  for (std::int64_t r = 0, to = 0; r < sizes[0]; ++r) {
    const std::int64_t n = batch.integer(r);
    if (n < 0 || n >= x.sizes[0]) {
      return fail(Code::bad_input, "input 'batch_indices': index {} at [{}] is outside [0, {}]", n, r, x.sizes[0] - 1);
    }
    const RoiJob job{a.mode == "max", a.sampling_ratio, region(rois, r, 1, a, sizes[2], x.sizes[2]),
                     region(rois, r, 0, a, sizes[3], x.sizes[3])};
    visit_storage(x.elem, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      for (std::int64_t k = 0; k < sizes[1] * sizes[2] * sizes[3] && !throttle.stop(1); ++k, ++to) {
        const std::int64_t column = k % sizes[3], row = k / sizes[3] % sizes[2], c = k / sizes[3] / sizes[2];
        const T* plane = reinterpret_cast<const T*>(x.data) + (n * sizes[1] + c) * pixels;
        element<T>(y, to) = from_number<T>(job.part(plane, row, column, throttle));
      }
    });
  }
  return {};
}

// ---- MaxRoiPool ----

Status max_roi_pool_types(InferCx& cx) {
  const Ints& pooled = cx.attrs<MaxRoiPoolAttrs>().pooled_shape;
  if (pooled.size() != 2) return cx.error("pooled_shape has {} entries, expected 2", pooled.size());
  FRAZIL_CHECK(check_span(cx, pooled, 1, "pooled_shape"));
  FRAZIL_CHECK(check_regions(cx, 5));
  cx.out(0, Type::tensor(cx.elem(0), {cx.shape(1)[0], cx.shape(0)[1], pooled[0], pooled[1]}));
  return {};
}

namespace {

/// A region along one axis in whole pixels.
struct PooledAxis {
  double start, extent;
  std::int64_t parts, pixels;

  PooledAxis(double from, double to, std::int64_t part_count, std::int64_t pixel_count)
      : start(std::round(from)),
        extent(std::max(std::round(to) - start + 1, 1.0)),
        parts(part_count),
        pixels(pixel_count) {}
  std::int64_t held(double place) const {
    return std::isnan(place) ? 0 : static_cast<std::int64_t>(std::clamp(place, 0.0, static_cast<double>(pixels)));
  }
  std::int64_t begin(std::int64_t part) const { return held(std::floor(border(part)) + start); }
  std::int64_t end(std::int64_t part) const { return held(std::ceil(border(part + 1)) + start); }
  /// Returns the border before `part`. Multiplies first, because part * (extent / parts) may exceed an exact integer.
  double border(std::int64_t part) const { return static_cast<double>(part) * extent / static_cast<double>(parts); }
};

/// Returns the maximum of an output cell, or 0 if the cell is empty.
template <class T>
double pooled(const T* plane, const PooledAxis& y, const PooledAxis& x, std::int64_t row, std::int64_t column,
              PollThrottle& throttle) {
  const std::int64_t left = x.begin(column), right = x.end(column), bottom = y.end(row);
  bool any = false;
  double most = 0;
  for (std::int64_t i = y.begin(row); i < bottom && left < right && !throttle.stop(right - left); ++i) {
    for (std::int64_t j = left; j < right; ++j) {
      const double value = to_number(plane[i * x.pixels + j]);
      most = any ? larger(most, value) : value;
      any = true;
    }
  }
  return most;
}

}  // namespace

Status max_roi_pool_run(OpaqueCall& call) {
  const TensorView x = call.in(0), rois = call.in(1);
  const auto& a = call.attrs<MaxRoiPoolAttrs>();
  const Sizes sizes{rois.sizes[0], x.sizes[1], a.pooled_shape[0], a.pooled_shape[1]};
  FRAZIL_TRY(std::byte* const out, call.out(0, sizes));
  PollThrottle throttle;
  for (std::int64_t r = 0, to = 0; r < sizes[0]; ++r) {
    const double image = number_at(rois, r * 5);
    if (!(image >= 0 && image < static_cast<double>(x.sizes[0]))) {
      return fail(Code::bad_input, "input 'rois': image {} at [{},0] is outside [0, {}]", image, r, x.sizes[0] - 1);
    }
    const auto bound = [&](std::int64_t k) { return number_at(rois, r * 5 + k) * a.spatial_scale; };
    const PooledAxis down(bound(2), bound(4), sizes[2], x.sizes[2]), across(bound(1), bound(3), sizes[3], x.sizes[3]);
    visit_storage(x.elem, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      for (std::int64_t k = 0; k < sizes[1] * sizes[2] * sizes[3] && !throttle.stop(1); ++k, ++to) {
        const std::int64_t column = k % sizes[3], row = k / sizes[3] % sizes[2], c = k / sizes[3] / sizes[2];
        const std::int64_t plane = static_cast<std::int64_t>(image) * sizes[1] + c;
        const T* pixels = reinterpret_cast<const T*>(x.data) + plane * x.sizes[2] * x.sizes[3];
        element<T>(out, to) = from_number<T>(pooled(pixels, down, across, row, column, throttle));
      }
    });
  }
  return {};
}

}  // namespace frazil::ops
