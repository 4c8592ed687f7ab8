// Pooling with channels as the last axis.

#include "kernel/window/pool_nhwc.simd.h"

#include <limits>

#include "kernel/simd/half_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

/// The kernel positions [first, last) of a window along one axis that lie inside the image.
struct Inside {
  int64_t first, last;
  Inside(int64_t begin, int64_t dilation, int64_t kernel, int64_t extent) {
    first = begin >= 0 ? 0 : min64(kernel, ceil_div(-begin, dilation));
    last = begin >= extent ? first : max64(first, min64(kernel, ceil_div(extent - begin, dilation)));
  }
};

/// Loads of f32 as vectors of f32; Halves loads 16-bit floats.
struct Floats {
  using Element = float;
  FRAZIL_INLINE static F32v get(const float* x) { return loadv(x); }
  FRAZIL_INLINE static F32v get(const float* x, int64_t n) { return load_mask(x, first_lanes(n)); }
};
template <class Number>
struct Halves {
  using Element = std::uint16_t;
  FRAZIL_INLINE static F32v get(const std::uint16_t* x) { return Number::widened(load_halves(x)); }
  FRAZIL_INLINE static F32v get(const std::uint16_t* x, int64_t n) { return Number::widened(load_halves(x, n)); }
};

/// The elements of a window for one channel, and the steps between lines and pixels.
template <class E>
struct Window {
  const typename E::Element* x;
  int64_t lines, pixels, line_step, pixel_step;
};

template <PoolFold fold>
FRAZIL_INLINE F32v folded(F32v a, F32v b) {
  if constexpr (fold == PoolFold::sum) return a + b;
  return ((b > a) | (b != b)) ? b : a;
}

template <PoolFold fold, int NV, bool Tail, class E>
FRAZIL_INLINE void fold_window(const Window<E>& w, int64_t lanes, float* y) {
  const float initial = fold == PoolFold::sum ? 0 : -std::numeric_limits<float>::infinity();
  F32v acc[NV];
#pragma GCC unroll 4
  for (int v = 0; v < NV; ++v) acc[v] = set1(initial);
  for (int64_t i = 0; i < w.lines; ++i) {
    const auto* x = w.x + i * w.line_step;
    for (int64_t j = 0; j < w.pixels; ++j, x += w.pixel_step) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) acc[v] = folded<fold>(acc[v], Tail ? E::get(x, lanes) : E::get(x + v * kW));
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < NV; ++v) {
    if constexpr (Tail)
      store_mask(y, acc[v], first_lanes(lanes));
    else
      storev(y + v * kW, acc[v]);
  }
}

template <PoolFold fold, class E>
void fold_channels(Window<E> w, int64_t channels, float* y) {
  int64_t c = 0;
  for (; c + 4 * kW <= channels; c += 4 * kW, w.x += 4 * kW) fold_window<fold, 4, false>(w, 0, y + c);
  for (; c + kW <= channels; c += kW, w.x += kW) fold_window<fold, 1, false>(w, 0, y + c);
  if (c < channels) fold_window<fold, 1, true>(w, channels - c, y + c);
}

using U8v = std::uint8_t __attribute__((vector_size(kVectorBytes)));
using I8v = std::int8_t __attribute__((vector_size(kVectorBytes)));

FRAZIL_INLINE U8v larger_bytes(U8v a, U8v b, bool is_signed) {
  return is_signed ? (U8v)((I8v)b > (I8v)a ? (I8v)b : (I8v)a) : b > a ? b : a;
}

/// The bytes of a window, and the steps between lines and pixels.
struct ByteWindow {
  const std::uint8_t* x;
  int64_t lines, pixels, line_step, pixel_step;
};

FRAZIL_INLINE void largest_bytes(const ByteWindow& w, bool is_signed, int64_t channels, std::uint8_t* y) {
  constexpr auto kChunk = static_cast<int64_t>(kVectorBytes);
  for (int64_t c = 0; c < channels; c += kChunk) {
    const auto some = static_cast<std::size_t>(min64(kChunk, channels - c));
    U8v most = is_signed ? U8v{} + 0x80 : U8v{};
    for (int64_t i = 0; i < w.lines; ++i) {
      const std::uint8_t* x = w.x + i * w.line_step + c;
      for (int64_t j = 0; j < w.pixels; ++j, x += w.pixel_step) {
        U8v v{};
        if (some == kVectorBytes)
          __builtin_memcpy(&v, x, sizeof v);
        else
          __builtin_memcpy(&v, x, some);
        most = larger_bytes(most, v, is_signed);
      }
    }
    if (some == kVectorBytes)
      __builtin_memcpy(y + c, &most, sizeof most);
    else
      __builtin_memcpy(y + c, &most, some);
  }
}

/// Calls f(first, lines, pixels, output pixel) for each window of a line. `first` is the window's first pixel inside
/// the image; `lines` and `pixels` are the numbers of those inside.
template <class F>
FRAZIL_INLINE void for_windows(const PoolParams& p, int64_t oy, F f) {
  const int64_t top = oy * p.stride_h - p.pad_top;
  const Inside lines(top, p.dilation_h, p.kernel_h, p.in_h);
  for (int64_t ox = 0; ox < p.out_w; ++ox) {
    const int64_t left = ox * p.stride_w - p.pad_left;
    const Inside pixels(left, p.dilation_w, p.kernel_w, p.in_w);
    const bool any = lines.last > lines.first && pixels.last > pixels.first;
    const int64_t first = (top + lines.first * p.dilation_h) * p.in_w + left + pixels.first * p.dilation_w;
    f(any ? first : 0, any ? lines.last - lines.first : 0, any ? pixels.last - pixels.first : 0, ox);
  }
}

template <class E>
void fold_line(const PoolParams& p, PoolFold fold, int64_t channels, const typename E::Element* x, int64_t oy,
               float* y) {
  const int64_t top = oy * p.stride_h - p.pad_top;
  const Inside lines(top, p.dilation_h, p.kernel_h, p.in_h);
  Window<E> w{.x = nullptr,
              .lines = lines.last - lines.first,
              .pixels = 0,
              .line_step = p.dilation_h * p.in_w * channels,
              .pixel_step = p.dilation_w * channels};
  for (int64_t ox = 0; ox < p.out_w; ++ox, y += channels) {
    const int64_t left = ox * p.stride_w - p.pad_left;
    const Inside pixels(left, p.dilation_w, p.kernel_w, p.in_w);
    w.pixels = pixels.last - pixels.first;
    const bool any = w.lines > 0 && w.pixels > 0;
    w.x = any ? x + ((top + lines.first * p.dilation_h) * p.in_w + left + pixels.first * p.dilation_w) * channels : x;
    if (!any) w.lines = w.pixels = 0;
    fold == PoolFold::sum ? fold_channels<PoolFold::sum>(w, channels, y)
                          : fold_channels<PoolFold::maximum>(w, channels, y);
    w.lines = lines.last - lines.first;
  }
}

}  // namespace

void pool_bytes_line(const PoolParams& p, bool is_signed, int64_t channels, const std::uint8_t* x, int64_t oy,
                     std::uint8_t* y) noexcept {
  for_windows(p, oy, [&](int64_t first, int64_t lines, int64_t pixels, int64_t ox) {
    const ByteWindow w{x + first * channels, lines, pixels, p.dilation_h * p.in_w * channels, p.dilation_w * channels};
    is_signed ? largest_bytes(w, true, channels, y + ox * channels)
              : largest_bytes(w, false, channels, y + ox * channels);
  });
}

void pool_line(const PoolParams& p, PoolFold fold, int64_t channels, const float* x, int64_t oy, float* y) noexcept {
  fold_line<Floats>(p, fold, channels, x, oy, y);
}

void pool_line_16(const PoolParams& p, PoolFold fold, Elem elem, int64_t channels, const void* x, int64_t oy,
                  float* y) noexcept {
  const auto* const from = static_cast<const std::uint16_t*>(x);
  elem == Elem::f16 ? fold_line<Halves<F16>>(p, fold, channels, from, oy, y)
                    : fold_line<Halves<Bf16>>(p, fold, channels, from, oy, y);
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
