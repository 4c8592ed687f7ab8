#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/window/conv.h"

// Convolutions and what they are to give.
namespace frazil::kernel {

using std::int64_t;

inline std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

/// The sum and the sum of magnitudes of one output element.
struct Want {
  double sum = 0, size = 0;
  void add(double v) { sum += v, size += std::abs(v); }
};

/// y as the convolutions with channels before the image write it.
inline std::vector<Want> naive_conv(const ConvParams& p, const std::vector<float>& x, const std::vector<float>& w,
                                    const float* bias) {
  const int64_t gi = p.in_c / p.groups, go = p.out_c / p.groups;
  std::vector<Want> y(at(p.batch * p.out_c * p.out_h * p.out_w));
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t o = 0; o < p.out_c; ++o)
      for (int64_t i = 0; i < p.out_h; ++i)
        for (int64_t j = 0; j < p.out_w; ++j) {
          Want& want = y[at(((n * p.out_c + o) * p.out_h + i) * p.out_w + j)];
          if (bias != nullptr) want.add(bias[o]);
          for (int64_t c = 0; c < gi; ++c)
            for (int64_t r = 0; r < p.kernel_h; ++r)
              for (int64_t s = 0; s < p.kernel_w; ++s) {
                const int64_t iy = i * p.stride_h - p.pad_top + r * p.dilation_h;
                const int64_t ix = j * p.stride_w - p.pad_left + s * p.dilation_w;
                if (iy < 0 || ix < 0 || iy >= p.in_h || ix >= p.in_w) continue;
                want.add(double(x[at(((n * p.in_c + o / go * gi + c) * p.in_h + iy) * p.in_w + ix)]) *
                         w[at(((o * gi + c) * p.kernel_h + r) * p.kernel_w + s)]);
              }
        }
  return y;
}

/// What stands behind the result has to be untouched. `growth` is how much larger an error may be than that of a plain
/// sum; above 1 it is held against the largest sum.
inline void compare(const ConvParams& p, const std::vector<float>& y, const std::vector<Want>& want,
                    double growth = 1) {
  const double depth = double(p.in_c / p.groups * p.kernel_h * p.kernel_w);
  double largest = 0;
  for (const Want& w : want) largest = std::max(largest, w.size);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double size = growth > 1 ? largest : want[i].size;
    ASSERT_NEAR(y[i], want[i].sum, growth * 2 * std::sqrt(depth + 4) * 6e-8 * (size + 1)) << i;
  }
  for (std::size_t i = want.size(); i < y.size(); ++i) ASSERT_EQ(y[i], -777.f);
}

inline ConvParams make(int64_t batch, int64_t in_c, int64_t h, int64_t w, int64_t out_c, int64_t kh, int64_t kw,
                       int64_t stride = 1, int64_t dilation = 1, int64_t pad = 0, int64_t groups = 1) {
  ConvParams p;
  p.batch = batch, p.in_c = in_c, p.in_h = h, p.in_w = w, p.out_c = out_c, p.kernel_h = kh, p.kernel_w = kw;
  p.stride_h = p.stride_w = stride, p.dilation_h = p.dilation_w = dilation, p.pad_top = p.pad_left = pad,
  p.groups = groups;
  p.out_h = (h + 2 * pad - dilation * (kh - 1) - 1) / stride + 1;
  p.out_w = (w + 2 * pad - dilation * (kw - 1) - 1) / stride + 1;
  return p;
}

inline std::vector<ConvParams> cases() {
  std::vector<ConvParams> all = {
      make(1, 1, 5, 5, 1, 3, 3),
      make(2, 3, 7, 9, 5, 3, 3, 1, 1, 1),
      make(1, 3, 30, 41, 17, 7, 7, 2, 1, 3),
      make(2, 16, 14, 14, 24, 3, 3, 1, 1, 1),
      make(1, 8, 7, 7, 13, 3, 3, 1, 1, 1),
      make(1, 8, 1, 100, 6, 1, 5, 1, 2, 0),
      make(2, 8, 10, 10, 12, 1, 1),
      make(1, 8, 9, 11, 12, 1, 1, 2),
      make(1, 300, 6, 6, 14, 1, 1),
      make(1, 40, 12, 12, 50, 3, 3, 1, 2, 2),
      make(2, 12, 9, 9, 8, 3, 3, 1, 1, 1, 4),
      make(1, 6, 8, 8, 12, 3, 3, 1, 1, 1, 6),
      make(2, 5, 20, 37, 5, 3, 3, 1, 1, 1, 5),
      make(1, 5, 20, 37, 5, 5, 5, 2, 1, 2, 5),
      make(1, 4, 7, 7, 4, 3, 3, 1, 3, 3, 4),
      make(1, 3, 5, 90, 3, 1, 40, 1, 1, 20, 3),
      make(1, 2, 40, 40, 3, 2, 2, 3),
      make(0, 2, 4, 4, 3, 3, 3),
      make(1, 0, 4, 4, 3, 3, 3),
      make(1, 2, 2, 2, 130, 1, 1),
      make(1, 2, 1, 1, 3, 3, 3, 1, 1, 1),
      make(1, 3, 3, 3, 20, 2, 2, 1, 1, 4),
      make(35, 3, 4, 4, 33, 3, 3),
  };
  ConvParams uneven = make(1, 4, 9, 8, 6, 3, 4);  // asymmetric pads, other strides per axis
  uneven.pad_top = 2, uneven.pad_left = 1, uneven.out_h = 10, uneven.out_w = 5, uneven.stride_w = 2;
  all.push_back(uneven);
  ConvParams crop = make(1, 4, 9, 8, 6, 3, 3);
  crop.pad_top = -1, crop.pad_left = -2, crop.out_h = 6, crop.out_w = 4;
  all.push_back(crop);
  ConvParams huge = make(1, 3, 6, 40, 5, 2, 2);  // taps beyond 32 bits
  huge.dilation_w = int64_t{1} << 33, huge.out_h = 5, huge.out_w = 40;
  all.push_back(huge);
  return all;
}

}  // namespace frazil::kernel
