#include <algorithm>
#include <cmath>

#include "ops/core/move.h"
#include "ops/core/numbers.h"
#include "ops/image/sample.h"
#include "ops/image/sampling.h"

// GridSample
namespace frazil::ops {

Status grid_sample_types(InferCx& cx) {
  const auto& a = cx.attrs<GridSampleAttrs>();
  const std::size_t rank = cx.rank(0);
  if (a.mode != "linear" && a.mode != "nearest" && a.mode != "cubic") return cx.error("unknown mode '{}'", a.mode);
  if (a.padding_mode != "zeros" && a.padding_mode != "border" && a.padding_mode != "reflection") {
    return cx.error("unknown padding_mode '{}'", a.padding_mode);
  }
  if (a.mode != "nearest" && !contains(elems::kNumeric, cx.elem(0))) {
    return cx.unsupported("mode '{}' of {} is not available", a.mode, name_of(cx.elem(0)));
  }
  if (rank < 3) return cx.error("input 'X' must have at least 3 axes, got {}", cx.type_str(0));
  if (cx.rank(1) != rank) return cx.error("input 'grid' must have {} axes as 'X', got {}", rank, cx.type_str(1));
  Shape shape = cx.shape(1);
  FRAZIL_CHECK(cx.require_equal(shape.back(), static_cast<std::int64_t>(rank) - 2, "coordinates of a place in 'grid'"));
  FRAZIL_TRY(const Dim batch, cx.require_equal(cx.shape(0)[0], shape[0], "batch of 'X' and 'grid'"));
  shape.pop_back();
  shape[0] = batch;
  shape.insert(shape.begin() + 1, cx.shape(0)[1]);
  cx.out(0, Type::tensor(cx.elem(0), std::move(shape)));
  return {};
}

namespace {

enum class Outside : std::uint8_t { zeros, border, reflection };

/// One spatial axis of the image.
struct GridAxis {
  std::int64_t extent, stride;
  double low, high;  ///< ends of the axis: centres of the outer pixels, or their edges
  Outside outside;

  double place(double grid, bool align) const {
    const auto n = static_cast<double>(extent);
    return align ? (grid + 1) / 2 * (n - 1) : ((grid + 1) * n - 1) / 2;
  }
  /// Reflects x at both ends until it lies between them.
  double reflected(double x) const {
    const double range = high - low, beyond = x < low ? low - x : x - high;
    if (x >= low && x <= high) return x;
    if (!(range > 0) || !std::isfinite(beyond)) return low;
    const double rest = std::fmod(beyond, range);
    const bool even = std::fmod(std::floor(beyond / range), 2) == 0;
    return (x < low) == even ? low + rest : high - rest;
  }
  double settled(double x) const {
    if (std::isnan(x) && outside != Outside::zeros) return low;
    if (outside == Outside::border && (x < low || x > high)) return std::clamp(x, 0.0, static_cast<double>(extent - 1));
    return outside == Outside::reflection ? reflected(x) : x;
  }
  /// Returns the offset of pixel `i`, or -1 if it is outside.
  std::int64_t offset(double i) const {
    if (outside == Outside::zeros && !(i >= 0 && i < static_cast<double>(extent))) return -1;
    const double held = outside == Outside::reflection ? reflected(i) : i;
    return static_cast<std::int64_t>(std::clamp(held, 0.0, static_cast<double>(extent - 1))) * stride;
  }
};

/// The pixels of one axis that contribute to a sample.
struct AxisTaps {
  int count = 0;
  std::int64_t offsets[4];
  double weights[4];
  void add(std::int64_t offset, double weight) {
    offsets[count] = offset;
    weights[count++] = weight;
  }
};

AxisTaps taps_at(const GridAxis& axis, std::string_view mode, double place) {
  AxisTaps taps;
  const double x = axis.settled(mode == "nearest" ? std::nearbyint(place) : place);
  if (mode == "nearest") {
    taps.add(axis.offset(x), 1);
    return taps;
  }
  const double first = std::floor(x), part = x - first;
  if (!std::isfinite(first)) {
    taps.add(-1, 0);
  } else if (mode == "linear") {
    taps.add(axis.offset(first), 1 - part);
    taps.add(axis.offset(first + 1), part);
  } else {
    for (int k = -1; k <= 2; ++k) taps.add(axis.offset(first + k), cubic_weight(part - k, -0.75));
  }
  return taps;
}

struct GridJob {
  const GridSampleAttrs& a;
  std::vector<GridAxis> axes;
  std::int64_t batch, channels, image, places;
  TensorView x, grid;
  std::byte* y;

  /// Reads the taps of sample `at` in the whole grid. Coordinates are stored last axis first.
  void read_taps(std::int64_t at, std::vector<AxisTaps>& taps) const {
    const auto r = static_cast<std::int64_t>(axes.size());
    for (std::int64_t d = 0; d < r; ++d) {
      const GridAxis& axis = axes[static_cast<std::size_t>(d)];
      const double place = axis.place(number_at(grid, at * r + r - 1 - d), a.align_corners != 0);
      taps[static_cast<std::size_t>(d)] = taps_at(axis, a.mode, place);
    }
  }
};

/// Calls visit(offset, weight) for each combination of taps inside the image. Returns false if the run must stop.
template <class F>
bool for_combinations(const std::vector<AxisTaps>& taps, std::vector<int>& digits, PollThrottle& throttle,
                      std::int64_t work, F visit) {
  std::ranges::fill(digits, 0);
  for (;;) {
    if (throttle.stop(work)) return false;
    std::int64_t offset = 0;
    double weight = 1;
    for (std::size_t d = 0; d < taps.size() && offset >= 0; ++d) {
      const std::int64_t part = taps[d].offsets[digits[d]];
      weight *= taps[d].weights[digits[d]];
      offset = part < 0 ? -1 : offset + part;
    }
    if (offset >= 0) visit(offset, weight);
    std::size_t d = taps.size();
    while (d > 0 && ++digits[d - 1] == taps[d - 1].count) digits[--d] = 0;
    if (d == 0) return true;
  }
}

/// Copies one pixel per sample, so elements may have any type.
void sample_nearest(const GridJob& job) {
  const auto width = static_cast<std::int64_t>(byte_size(job.x.elem));
  std::vector<AxisTaps> taps(job.axes.size());
  std::vector<int> digits(taps.size());
  PollThrottle throttle;
  for (std::int64_t at = 0; at < job.batch * job.places; ++at) {
    job.read_taps(at, taps);
    const std::int64_t n = at / job.places, to = n * job.channels * job.places + at % job.places;
    std::int64_t from = -1;
    if (!for_combinations(taps, digits, throttle, 8 * job.channels, [&](std::int64_t o, double) { from = o; })) return;
    for (std::int64_t c = 0; c < job.channels && from >= 0; ++c) {
      const std::int64_t pixel = (n * job.channels + c) * job.image + from;
      move_elements(job.x.elem, job.y + (to + c * job.places) * width, job.x.data + pixel * width, 1);
    }
  }
}

template <class T>
void sample_weighted(const GridJob& job, double* sums) {
  std::vector<AxisTaps> taps(job.axes.size());
  std::vector<int> digits(taps.size());
  PollThrottle throttle;
  for (std::int64_t at = 0; at < job.batch * job.places; ++at) {
    job.read_taps(at, taps);
    const std::int64_t n = at / job.places, to = n * job.channels * job.places + at % job.places;
    std::fill_n(sums, job.channels, 0.0);
    const bool done =
        for_combinations(taps, digits, throttle, 4 * job.channels, [&](std::int64_t offset, double weight) {
          const T* pixel = reinterpret_cast<const T*>(job.x.data) + n * job.channels * job.image + offset;
          for (std::int64_t c = 0; c < job.channels; ++c) sums[c] += weight * to_number(pixel[c * job.image]);
        });
    if (!done) return;
    for (std::int64_t c = 0; c < job.channels; ++c) element<T>(job.y, to + c * job.places) = from_number<T>(sums[c]);
  }
}

std::vector<GridAxis> grid_axes(const TensorView& x, const GridSampleAttrs& a) {
  const Outside outside = a.padding_mode == "border"       ? Outside::border
                          : a.padding_mode == "reflection" ? Outside::reflection
                                                           : Outside::zeros;
  std::vector<GridAxis> axes;
  std::int64_t stride = 1;
  for (std::size_t d = x.rank(); d-- > 2; stride *= x.sizes[d]) {
    const double edge = a.align_corners != 0 ? 0 : 0.5;
    axes.push_back({x.sizes[d], stride, -edge, static_cast<double>(x.sizes[d] - 1) + edge, outside});
  }
  std::ranges::reverse(axes);
  return axes;
}

}  // namespace

Status grid_sample_run(OpaqueCall& call) {
  const TensorView x = call.in(0), grid = call.in(1);
  const auto& a = call.attrs<GridSampleAttrs>();
  Sizes sizes{x.sizes[0], x.sizes[1]};
  sizes.insert(sizes.end(), grid.sizes.begin() + 1, grid.sizes.end() - 1);
  FRAZIL_TRY(std::byte* const y, call.out(0, sizes));
  const std::int64_t count = element_count(sizes);
  if (x.elem != Elem::string) std::fill_n(y, static_cast<std::size_t>(count) * byte_size(x.elem), std::byte{});
  if (count == 0 || x.count() == 0) return {};  // samples of an empty image are zero
  const std::span<const std::int64_t> spatial(sizes.begin() + 2, sizes.end());
  const GridJob job{
      a, grid_axes(x, a), sizes[0], sizes[1], element_count(x.sizes.subspan(2)), element_count(spatial), x, grid, y};
  if (a.mode == "nearest") {
    sample_nearest(job);
    return {};
  }
  FRAZIL_TRY(std::byte* const memory, call.scratch(static_cast<std::size_t>(sizes[1]) * sizeof(double)));
  visit_storage(x.elem, [&](auto* type) {
    sample_weighted<std::remove_pointer_t<decltype(type)>>(job, reinterpret_cast<double*>(memory));
  });
  return {};
}

}  // namespace frazil::ops
