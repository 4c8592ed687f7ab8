#include "kernel/window/pool.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/thread/poll_throttle.h"
#include "base/value/elem.h"
#include "base/value/extents.h"
#include "kernel/row/reduce.h"
#include "kernel/simd/isa.h"
#include "kernel/tile/tile.h"
#include "kernel/window/pool_nhwc.simd.h"

namespace frazil::kernel {
namespace {

using std::int64_t;

constexpr float kLowest = -std::numeric_limits<float>::infinity();

struct Range {
  int64_t begin, end;
};

/// Returns the outputs o in [0, out) with 0 <= o * stride + shift < in.
Range inside(int64_t out, int64_t stride, int64_t shift, int64_t in) {
  const int64_t begin = std::clamp<int64_t>(ceil_div(-shift, stride), 0, out);
  return {begin, std::clamp(ceil_div(in - shift, stride), begin, out)};
}

/// Returns the number of i = 0 .. kernel - 1 with lo <= first + i * dilation < hi.
int64_t taps_between(int64_t first, int64_t dilation, int64_t kernel, int64_t lo, int64_t hi) {
  const Range r = inside(kernel, dilation, first - lo, hi - lo);
  return r.end - r.begin;
}

/// Calls f(input row, output columns, shift) for each tap that contributes to output row `oy`: output column o in the
/// range reads row[o * stride_w + shift].
template <class F>
void for_taps(const PoolParams& p, const float* x, int64_t oy, F f) {
  for (int64_t r = 0; r < p.kernel_h; ++r) {
    const int64_t iy = oy * p.stride_h - p.pad_top + r * p.dilation_h;
    if (iy < 0 || iy >= p.in_h) continue;
    for (int64_t s = 0; s < p.kernel_w; ++s) {
      const int64_t shift = s * p.dilation_w - p.pad_left;
      f(iy, inside(p.out_w, p.stride_w, shift, p.in_w), shift, x + iy * p.in_w);
    }
  }
}

template <class F>
void combine(float* y, const float* row, Range cols, int64_t stride, int64_t shift, F f) {
  if (stride == 1) {
    for (int64_t o = cols.begin; o < cols.end; ++o) y[o] = f(y[o], row[o + shift]);
  } else {
    for (int64_t o = cols.begin; o < cols.end; ++o) y[o] = f(y[o], row[o * stride + shift]);
  }
}

void max_row(const PoolParams& p, const float* x, int64_t oy, float* y) {
  std::fill_n(y, p.out_w, kLowest);
  for_taps(p, x, oy, [&](int64_t, Range cols, int64_t shift, const float* row) {
    combine(y, row, cols, p.stride_w, shift, [](float a, float b) { return ((b > a) | (b != b)) ? b : a; });
  });
}

void max_row_indices(const PoolParams& p, const float* x, int64_t oy, float* y, int64_t* where, bool column_major) {
  std::fill_n(y, p.out_w, kLowest);
  std::fill_n(where, p.out_w, int64_t{-1});
  for_taps(p, x, oy, [&](int64_t iy, Range cols, int64_t shift, const float* row) {
    for (int64_t o = cols.begin; o < cols.end; ++o) {
      const int64_t ix = o * p.stride_w + shift;
      const float v = row[ix];
      if (where[o] >= 0 && !(v > y[o]) && !(v != v && y[o] == y[o])) continue;
      y[o] = v;
      where[o] = column_major ? ix * p.in_h + iy : iy * p.in_w + ix;
    }
  });
}

/// Returns the number of window positions along an axis that count for output `o`.
int64_t counted(bool count_include_pad, int64_t o, int64_t stride, int64_t pad, int64_t end_pad, int64_t dilation,
                int64_t kernel, int64_t in) {
  const int64_t lo = count_include_pad ? -pad : 0, hi = count_include_pad ? in + end_pad : in;
  return taps_between(o * stride - pad, dilation, kernel, lo, hi);
}
int64_t counted_rows(const PoolParams& p, bool count_include_pad, int64_t oy) {
  return counted(count_include_pad, oy, p.stride_h, p.pad_top, p.pad_bottom, p.dilation_h, p.kernel_h, p.in_h);
}
int64_t counted_cols(const PoolParams& p, bool count_include_pad, int64_t ox) {
  return counted(count_include_pad, ox, p.stride_w, p.pad_left, p.pad_right, p.dilation_w, p.kernel_w, p.in_w);
}

void average_row(const PoolParams& p, const float* x, int64_t oy, float* y, bool count_include_pad) {
  std::fill_n(y, p.out_w, 0.f);
  for_taps(p, x, oy, [&](int64_t, Range cols, int64_t shift, const float* row) {
    combine(y, row, cols, p.stride_w, shift, [](float a, float b) { return a + b; });
  });
  const int64_t rows = counted_rows(p, count_include_pad, oy);
  const auto divide = [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const int64_t n = rows * counted_cols(p, count_include_pad, o);
      y[o] = n > 0 ? y[o] / static_cast<float>(n) : 0.f;
    }
  };
  // Between the ranges of the first and the last tap, every tap is inside the image.
  const Range first = inside(p.out_w, p.stride_w, -p.pad_left, p.in_w);
  const Range last = inside(p.out_w, p.stride_w, (p.kernel_w - 1) * p.dilation_w - p.pad_left, p.in_w);
  const int64_t begin = std::max(first.begin, last.begin), end = std::max(begin, std::min(first.end, last.end));
  divide(0, begin);
  const float whole = static_cast<float>(std::max<int64_t>(rows * p.kernel_w, 1));
  for (int64_t o = begin; o < end; ++o) y[o] /= whole;
  divide(end, p.out_w);
}

using Lines = void (*)(const PoolParams&, PoolFold, int64_t, const float*, int64_t, float*) noexcept;

Lines pool_lines() { FRAZIL_DISPATCH(pool_line); }

/// Folds lines [begin, end) of images with channels last. Calls then(line of its image, its results) after each.
template <class Then>
void for_lines(const PoolParams& p, PoolFold fold, int64_t channels, const float* x, float* y, int64_t begin,
               int64_t end, Then then) {
  const Lines pool_line = pool_lines();
  PollThrottle throttle;
  for (int64_t line = begin; line < end && !throttle.stop(p.out_w * channels * p.kernel_h * p.kernel_w); ++line) {
    const int64_t image = line / p.out_h, oy = line % p.out_h;
    float* const to = y + line * p.out_w * channels;
    pool_line(p, fold, channels, x + image * p.in_h * p.in_w * channels, oy, to);
    then(oy, to);
  }
}

using HalfLines = void (*)(const PoolParams&, PoolFold, Elem, int64_t, const void*, int64_t, float*) noexcept;

HalfLines half_pool_lines() { FRAZIL_DISPATCH(pool_line_16); }

/// Does the same for 16-bit floats. then(line of its image) may change the results in `line`.
template <class Then>
void for_lines_16(const PoolParams& p, PoolFold fold, Elem elem, int64_t channels, const void* x, void* y,
                  int64_t begin, int64_t end, float* line, Then then) {
  constexpr int64_t kSize = 2;
  const HalfLines pool_line = half_pool_lines();
  const TileFn narrow = cast_fn(Elem::f32, elem);
  PollThrottle throttle;
  for (int64_t at = begin; at < end && !throttle.stop(p.out_w * channels * p.kernel_h * p.kernel_w); ++at) {
    const int64_t image = at / p.out_h, oy = at % p.out_h;
    pool_line(p, fold, elem, channels, static_cast<const std::byte*>(x) + image * p.in_h * p.in_w * channels * kSize,
              oy, line);
    then(oy);
    const void* const from = line;
    narrow(static_cast<std::byte*>(y) + at * p.out_w * channels * kSize, &from,
           static_cast<std::size_t>(p.out_w * channels));
  }
}

}  // namespace

void max_pool_nhwc(const PoolParams& p, int64_t channels, const float* x, float* y, int64_t begin,
                   int64_t end) noexcept {
  for_lines(p, PoolFold::maximum, channels, x, y, begin, end, [](int64_t, float*) {});
}

/// Divides the sums of a line by their counts.
static void average_line(const PoolParams& p, int64_t channels, bool count_include_pad, int64_t oy, float* to) {
  const int64_t rows = counted_rows(p, count_include_pad, oy);
  for (int64_t ox = 0; ox < p.out_w; ++ox, to += channels) {
    const int64_t count = rows * counted_cols(p, count_include_pad, ox);
    for (int64_t c = 0; c < channels; ++c) to[c] = count > 0 ? to[c] / static_cast<float>(count) : 0.f;
  }
}

void average_pool_nhwc(const PoolParams& p, int64_t channels, const float* x, float* y, bool count_include_pad,
                       int64_t begin, int64_t end) noexcept {
  for_lines(p, PoolFold::sum, channels, x, y, begin, end,
            [&](int64_t oy, float* to) { average_line(p, channels, count_include_pad, oy, to); });
}

void max_pool_nhwc_16(const PoolParams& p, Elem elem, int64_t channels, const void* x, void* y, int64_t begin,
                      int64_t end, float* line) noexcept {
  for_lines_16(p, PoolFold::maximum, elem, channels, x, y, begin, end, line, [](int64_t) {});
}

void average_pool_nhwc_16(const PoolParams& p, Elem elem, int64_t channels, const void* x, void* y,
                          bool count_include_pad, int64_t begin, int64_t end, float* line) noexcept {
  for_lines_16(p, PoolFold::sum, elem, channels, x, y, begin, end, line,
               [&](int64_t oy) { average_line(p, channels, count_include_pad, oy, line); });
}

namespace {

using ByteLines = void (*)(const PoolParams&, bool, int64_t, const std::uint8_t*, int64_t, std::uint8_t*) noexcept;

ByteLines byte_lines() { FRAZIL_DISPATCH(pool_bytes_line); }

}  // namespace

void max_pool_bytes_nhwc(const PoolParams& p, bool is_signed, int64_t channels, const void* x, void* y, int64_t begin,
                         int64_t end) noexcept {
  const ByteLines line = byte_lines();
  PollThrottle throttle;
  for (int64_t i = begin; i < end && !throttle.stop(p.out_w * channels * p.kernel_h * p.kernel_w); ++i) {
    const auto* const image = static_cast<const std::uint8_t*>(x) + i / p.out_h * p.in_h * p.in_w * channels;
    line(p, is_signed, channels, image, i % p.out_h, static_cast<std::uint8_t*>(y) + i * p.out_w * channels);
  }
}

void max_pool_bytes(const PoolParams& p, bool is_signed, const void* x, void* y, int64_t begin, int64_t end) noexcept {
  PoolParams plane = p;
  plane.planes = 1;
  const int64_t in = p.in_h * p.in_w, out = p.out_h * p.out_w;
  for (int64_t i = begin; i < end && !stop_requested(); ++i) {
    max_pool_bytes_nhwc(plane, is_signed, 1, static_cast<const std::uint8_t*>(x) + i * in,
                        static_cast<std::uint8_t*>(y) + i * out, 0, p.out_h);
  }
}

void max_pool_range(const PoolParams& p, const float* x, float* y, int64_t* indices, bool column_major, int64_t begin,
                    int64_t end) noexcept {
  const int64_t in = p.in_h * p.in_w, out = p.out_h * p.out_w;
  PollThrottle throttle;
  for (int64_t plane = begin; plane < end; ++plane) {
    for (int64_t oy = 0; oy < p.out_h; ++oy) {
      if (throttle.stop(p.out_w * p.kernel_h * p.kernel_w)) return;
      float* const to = y + plane * out + oy * p.out_w;
      if (indices == nullptr) {
        max_row(p, x + plane * in, oy, to);
        continue;
      }
      int64_t* const where = indices + plane * out + oy * p.out_w;
      max_row_indices(p, x + plane * in, oy, to, where, column_major);
      for (int64_t o = 0; o < p.out_w; ++o) where[o] += where[o] >= 0 ? plane * in : 0;
    }
  }
}

void average_pool_range(const PoolParams& p, const float* x, float* y, bool count_include_pad, int64_t begin,
                        int64_t end) noexcept {
  const int64_t in = p.in_h * p.in_w, out = p.out_h * p.out_w;
  PollThrottle throttle;
  for (int64_t plane = begin; plane < end; ++plane) {
    for (int64_t oy = 0; oy < p.out_h; ++oy) {
      if (throttle.stop(p.out_w * p.kernel_h * p.kernel_w)) return;
      average_row(p, x + plane * in, oy, y + plane * out + oy * p.out_w, count_include_pad);
    }
  }
}

void max_pool(const PoolParams& p, const float* x, float* y, int64_t* indices, bool column_major) noexcept {
  max_pool_range(p, x, y, indices, column_major, 0, p.planes);
}

void average_pool(const PoolParams& p, const float* x, float* y, bool count_include_pad) noexcept {
  average_pool_range(p, x, y, count_include_pad, 0, p.planes);
}

void global_average_pool(int64_t planes, int64_t extent, const float* x, float* y) noexcept {
  reduce(Reduce::mean, Elem::f32, x, y, planes, extent, 1);
}

void global_max_pool(int64_t planes, int64_t extent, const float* x, float* y) noexcept {
  reduce(Reduce::max, Elem::f32, x, y, planes, extent, 1);
}

}  // namespace frazil::kernel
