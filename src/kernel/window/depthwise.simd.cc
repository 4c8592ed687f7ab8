// f32 depthwise convolutions with channels as the last axis.
//
// A vector holds channels. Adjacent outputs of a line share inputs: a tile of them loads each pixel once. Outputs whose
// windows reach outside the image are computed one by one. In both cases, each sum is a chain of fma over the taps in
// order.

#include "base/thread/poll_throttle.h"
#include "kernel/contract/results.h"
#include "kernel/window/conv_nhwc.simd.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

/// An output position of a plane.
struct Position {
  int64_t item, y, x;
};
FRAZIL_INLINE Position position(const NhwcRun& r, int64_t plane, int64_t row) {
  const int64_t w = r.p.out_w, area = r.p.out_h * w, at = plane * r.shape.plane_rows + row;
  return {at / area, at % area / w, at % w};
}
FRAZIL_INLINE void next(const NhwcRun& r, Position& at) {
  if (++at.x < r.p.out_w) return;
  at.x = 0;
  if (++at.y < r.p.out_h) return;
  at.y = 0;
  ++at.item;
}

constexpr int64_t kMaxKernelLines = 7;  ///< most lines of a kernel that tiles of outputs can read

/// The image lines that one line of outputs reads, from some channel on. Lines outside the image are zeros, with step
/// 0.
struct ChannelLines {
  const float* at[kMaxKernelLines];
  int64_t step[kMaxKernelLines];  ///< from one pixel to the next
  int64_t count;
};

/// Keeps GCC from loading v again for each use.
FRAZIL_INLINE void loaded_once(F32v& v) {
#if defined(__AVX512F__)
  asm("" : "+v"(v));
#elif defined(__x86_64__)
  asm("" : "+x"(v));
#elif defined(FRAZIL_NEON)
  asm("" : "+w"(v));
#else
  (void)v;
#endif
}

/// Computes R adjacent outputs of one vector of channels. `first` is the first pixel of the first output's window, `w`
/// the vector's weights [tap][w_row].
template <int KW, int S, int R, bool Tail>
FRAZIL_INLINE void line_tile(const ChannelLines& in, int64_t first, const float* w, int64_t w_row, const Results& out,
                             Mask mask) {
  const auto get = [&](const float* p) __attribute__((always_inline)) { return Tail ? load_mask(p, mask) : loadv(p); };
  F32v acc[R][1];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) acc[r][0] = F32v{};
  for (int64_t i = 0; i < in.count; ++i, w += KW * w_row) {
    const int64_t step = in.step[i];
    const float* x = in.at[i] + first * step;
    F32v weights[KW];
#pragma GCC unroll 8
    for (int j = 0; j < KW; ++j) weights[j] = get(w + j * w_row);
#pragma GCC unroll 32
    for (int pixel = 0; pixel < (R - 1) * S + KW; ++pixel, x += step) {
      F32v v = get(x);
      loaded_once(v);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const int j = pixel - r * S;
        if (j >= 0 && j < KW) acc[r][0] = mul_add(v, weights[j], acc[r][0]);
      }
    }
  }
  finish<R, 1, Tail>(acc, out, mask);
}

/// A line of outputs. Channels are the innermost loop, so that memory is read and written in order.
class ChannelLine {
 public:
  ChannelLine(const NhwcRun& r, int64_t item, int64_t y, const float* zeros)
      : r_(r), zeros_(zeros), top_(y * r.p.stride_h - r.p.pad_top) {
    const ConvParams& p = r.p;
    image_ = r.x + item * p.in_h * p.in_w * p.in_c;
    row_ = (item * p.out_h + y) * p.out_w;
    lines_.count = min64(p.kernel_h, kMaxKernelLines);
    for (int64_t i = 0; i < lines_.count; ++i) read_line(i, lines_.at[i], lines_.step[i]);
  }

  /// Computes outputs [x, end). Uses tiles if KW and S are the convolution's and the windows are inside the line.
  template <int KW, int S>
  void run(int64_t x, int64_t end) {
    const ConvParams& p = r_.p;
    const int64_t last = p.in_w - 1 - (p.kernel_w - 1) * p.dilation_w + p.pad_left;
    const int64_t lo = min64(max64(ceil_div(max64(p.pad_left, 0), p.stride_w), x), end);
    const int64_t hi = max64(lo, min64(last < 0 ? 0 : last / p.stride_w + 1, end));
    for (; x < lo; ++x) single(x);
    if constexpr (KW > 0) {
      for (; x + 8 <= hi; x += 8) tiles<KW, S, 8>(x);
      for (; x + 4 <= hi; x += 4) tiles<KW, S, 4>(x);
      for (; x + 2 <= hi; x += 2) tiles<KW, S, 2>(x);
    }
    for (; x < end; ++x) single(x);
  }

 private:
  void read_line(int64_t i, const float*& at, int64_t& step) const {
    const int64_t y = top_ + i * r_.p.dilation_h;
    const bool inside = y >= 0 && y < r_.p.in_h;
    at = inside ? image_ + y * r_.p.in_w * r_.p.in_c : zeros_;
    step = inside ? r_.p.in_c : 0;
  }
  /// Points `out_` to output x and channels from `col` on.
  void place(int64_t x, int64_t col) { out_ = r_.out.at(row_ + x, col); }

  /// Computes R outputs from x on.
  template <int KW, int S, int R>
  void tiles(int64_t x) {
    const int64_t channels = r_.p.out_c, first = x * S - r_.p.pad_left;
    ChannelLines in = lines_;
    int64_t col = 0;
    const auto tile = [&]<bool Tail>(Mask mask) __attribute__((always_inline)) {
      place(x, col);
      line_tile<KW, S, R, Tail>(in, first, r_.w + col, channels, out_, mask);
      for (int64_t i = 0; i < in.count; ++i) in.at[i] += in.step[i] != 0 ? kW : 0;
    };
    for (; col + kW <= channels; col += kW) tile.template operator()<false>(first_lanes(0));
    if (col < channels) tile.template operator()<true>(first_lanes(channels - col));
  }

  /// Computes one output, whose taps may be outside the image.
  void single(int64_t x) {
    const int64_t left = x * r_.p.stride_w - r_.p.pad_left;
    for (int64_t col = 0; col < r_.p.out_c; col += kW) {
      place(x, col);
      single(left, col, first_lanes(min64(kW, r_.p.out_c - col)));
    }
  }
  void single(int64_t left, int64_t col, Mask mask) {
    const ConvParams& p = r_.p;
    F32v acc[1][1] = {};
    const float* w = r_.w + col;
    for (int64_t i = 0; i < p.kernel_h; ++i) {
      const float* at;
      int64_t step;
      if (i < lines_.count)
        at = lines_.at[i], step = lines_.step[i];
      else
        read_line(i, at, step);
      for (int64_t j = 0, pixel = left; j < p.kernel_w; ++j, pixel += p.dilation_w, w += p.out_c) {
        const bool there = step != 0 && pixel >= 0 && pixel < p.in_w;
        const float* const from = there ? at + pixel * step + col : zeros_;
        acc[0][0] = mul_add(load_mask(from, mask), load_mask(w, mask), acc[0][0]);
      }
    }
    finish<1, 1, true>(acc, out_, mask);
  }

  const NhwcRun& r_;
  const float *image_ = nullptr, *zeros_;
  int64_t top_, row_;
  ChannelLines lines_;
  Results out_;
};

/// Computes outputs [begin, end) of a plane.
template <int KW, int S>
void channel_rows(const NhwcRun& r, int64_t plane, int64_t begin, int64_t end) {
  Position at = position(r, plane, begin);
  for (int64_t row = begin; row < end && !stop_requested();) {
    const int64_t past = min64(r.p.out_w, at.x + end - row);
    ChannelLine(r, at.item, at.y, r.scratch).run<KW, S>(at.x, past);
    row += past - at.x;
    at.x = past - 1;
    next(r, at);
  }
}

using ChannelRows = void (*)(const NhwcRun&, int64_t plane, int64_t begin, int64_t end);

ChannelRows channel_rows_for(const ConvParams& p) {
  const auto is = [&](int64_t width, int64_t stride) { return p.kernel_w == width && p.stride_w == stride; };
  if (p.dilation_w != 1 || p.kernel_h > kMaxKernelLines) return channel_rows<0, 1>;
  if (is(3, 1)) return channel_rows<3, 1>;
  if (is(3, 2)) return channel_rows<3, 2>;
  if (is(5, 1)) return channel_rows<5, 1>;
  if (is(5, 2)) return channel_rows<5, 2>;
  return channel_rows<0, 1>;
}

}  // namespace

void nhwc_depthwise(const NhwcRun& r, int64_t begin, int64_t end) noexcept {
  const NhwcShape& s = r.shape;
  const ChannelRows rows = channel_rows_for(r.p);
  for (int i = 0; i < kW; ++i) r.scratch[i] = 0;
  for (int64_t u = begin; u < end && !stop_requested(); ++u) {
    const int64_t plane = u / s.row_blocks, block = u % s.row_blocks, first = plane * s.plane_rows;
    const int64_t row0 = nhwc_block_begin(s, block), row1 = nhwc_block_begin(s, block + 1);
    rows(r, plane, row0, row1);
    if (r.on_tile != nullptr) (*r.on_tile)(first + row0, first + row1, 0, r.p.out_c);
  }
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
