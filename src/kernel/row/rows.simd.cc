#include "kernel/row/rows.simd.h"

#include "base/thread/poll_throttle.h"
#include "kernel/simd/f32_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

/// Sets lanes outside the mask to `fill`.
FRAZIL_INLINE F32v keep(F32v v, Mask m, float fill) {
#if defined(__AVX512F__)
  return (F32v)_mm512_mask_mov_ps((__m512)set1(fill), m, (__m512)v);
#elif defined(__AVX2__)
  return m != 0 ? v : set1(fill);
#else
  for (int i = 0; i < kW; ++i)
    if (i >= m) v[i] = fill;
  return v;
#endif
}

/// Calls run(begin) for begin = 0, step, 2 * step, ... while a whole step fits into n. Returns the first remaining
/// position, or n if the run has to stop.
template <class F>
FRAZIL_INLINE int64_t whole_steps(int64_t n, int64_t step, F run) {
  constexpr int64_t kPiece = int64_t{1} << 16;  // a multiple of every step
  for (int64_t i = 0;;) {
    const int64_t end = min64(n, i + kPiece);
    for (; i + step <= end; i += step) run(i);
    if (i + step > n) return i;
    if (stop_requested()) return n;
  }
}

/// Calls f(get, put) for each vector of n elements. At a vector's position i, get(p) loads from p + i and put(p, v)
/// stores to p + i. Lanes beyond n load as 0 and are not stored.
template <class F>
FRAZIL_INLINE void for_vectors(int64_t n, F f) {
  const int64_t i = whole_steps(n, kW, [&](int64_t at) __attribute__((always_inline)) {
    f([at](const float* p) __attribute__((always_inline)) { return loadv(p + at); },
      [at](float* p, F32v v) __attribute__((always_inline)) { storev(p + at, v); });
  });
  if (i < n) {
    const Mask m = first_lanes(n - i);
    f([i, m](const float* p) __attribute__((always_inline)) { return load_mask(p + i, m); },
      [i, m](float* p, F32v v) __attribute__((always_inline)) { store_mask(p + i, v, m); });
  }
}

/// Folds map(x) over a row into four vectors, then these into one. Callers fold its lanes.
template <class Map, class Fold>
FRAZIL_INLINE F32v fold_row(const float* x, int64_t n, float identity, Map map, Fold fold) {
  F32v acc[4] = {set1(identity), set1(identity), set1(identity), set1(identity)};
  int64_t i = whole_steps(n, 4 * kW, [&](int64_t at) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) acc[v] = fold(acc[v], map(loadv(x + at + v * kW)));
  });
  for (; i + kW <= n; i += kW) acc[0] = fold(acc[0], map(loadv(x + i)));
  if (i < n) {
    const Mask m = first_lanes(n - i);
    acc[1] = fold(acc[1], keep(map(load_mask(x + i, m)), m, identity));
  }
  return fold(fold(acc[0], acc[1]), fold(acc[2], acc[3]));
}

template <class Map>
FRAZIL_INLINE float sum_row(const float* x, int64_t n, Map map) {
  return sum_lanes(fold_row(x, n, 0.f, map, [](F32v a, F32v b) __attribute__((always_inline)) { return a + b; }));
}

/// Returns the sum of (x - middle)^2.
FRAZIL_INLINE float sum_squares(const float* x, int64_t n, F32v middle) {
  F32v acc[4] = {};
  int64_t i = whole_steps(n, 4 * kW, [&](int64_t at) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const F32v d = loadv(x + at + v * kW) - middle;
      acc[v] = mul_add(d, d, acc[v]);
    }
  });
  for (; i < n; i += kW) {
    const Mask m = first_lanes(min64(kW, n - i));
    const F32v d = keep(load_mask(x + i, m) - middle, m, 0.f);
    acc[0] = mul_add(d, d, acc[0]);
  }
  return sum_lanes((acc[0] + acc[1]) + (acc[2] + acc[3]));
}

FRAZIL_INLINE float max_lanes(F32v m) {
  float lanes[kW];
  storev(lanes, m);
#pragma GCC unroll 4
  for (int width = kW / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] = lanes[i] > lanes[i + width] ? lanes[i] : lanes[i + width];
  }
  return lanes[0];
}

/// Returns the largest element; may ignore NaN.
FRAZIL_INLINE float max_row(const float* x, int64_t n) {
  return max_lanes(fold_row(
      x, n, -__builtin_inff(), [](F32v v) __attribute__((always_inline)) { return v; },
      [](F32v a, F32v b) __attribute__((always_inline)) { return larger(a, b); }));
}

FRAZIL_INLINE F32v clipped(F32v v, float clip) {
  if (!(clip > 0)) return v;
  v = v > clip ? set1(clip) : v;
  return v < -clip ? set1(-clip) : v;
}

/// Returns the lanes of x where keep is not 0, and `hidden` in the others. Bytes beyond n are not read.
FRAZIL_INLINE F32v kept(F32v x, const std::uint8_t* keep, int64_t n, F32v hidden) {
  std::int32_t lanes[kW] = {};
  const int64_t count = min64(kW, n);
  for (int64_t i = 0; i < count; ++i) lanes[i] = keep[i];
  I32v mask;
  __builtin_memcpy(&mask, lanes, sizeof mask);
  return mask != 0 ? x : hidden;
}

/// Applies softcap, bias and mask to the visible scores and returns the largest one.
float adjust_scores(const AttentionRow& r) {
  F32v highest = set1(-__builtin_inff());
  const F32v cap = set1(r.softcap), hidden = set1(r.hidden);
  for (int64_t j = 0; j < r.seen; j += kW) {
    const Mask m = first_lanes(min64(kW, r.seen - j));
    F32v x = load_mask(r.x + j, m);
    if (r.softcap > 0) x = tanh(x / cap) * cap;
    if (r.bias != nullptr && !r.bias_last) x += load_mask(r.bias + j, m);
    if (r.keep != nullptr) x = kept(x, r.keep + j, r.seen - j, hidden);
    if (r.bias != nullptr && r.bias_last) x += load_mask(r.bias + j, m);
    store_mask(r.x + j, x, m);
    highest = larger(highest, keep(x, m, -__builtin_inff()));
  }
  return max_lanes(highest);
}

}  // namespace

void rows_softmax(const Rows& r) noexcept {
  PollThrottle throttle;
  for (int64_t i = 0; i < r.rows && !throttle.stop(r.cols); ++i) {
    const float* const x = r.x + i * r.x_row;
    float* const y = r.y + i * r.y_row;
    const F32v high = set1(max_row(x, r.cols));
    F32v sum[2] = {};
    int64_t j = whole_steps(r.cols, 2 * kW, [&](int64_t at) __attribute__((always_inline)) {
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) {
        const F32v e = exp_of_negative(loadv(x + at + v * kW) - high);
        storev(y + at + v * kW, e);
        sum[v] += e;
      }
    });
    for (; j < r.cols; j += kW) {
      const Mask m = first_lanes(min64(kW, r.cols - j));
      const F32v e = exp_of_negative(load_mask(x + j, m) - high);
      store_mask(y + j, e, m);
      sum[0] += keep(e, m, 0.f);
    }
    const F32v scale = set1(1.f / sum_lanes(sum[0] + sum[1]));
    for_vectors(r.cols, [&](auto get, auto put) __attribute__((always_inline)) { put(y, get(y) * scale); });
  }
}

void rows_log_softmax(const Rows& r) noexcept {
  PollThrottle throttle;
  for (int64_t i = 0; i < r.rows && !throttle.stop(r.cols); ++i) {
    const float* const x = r.x + i * r.x_row;
    float* const y = r.y + i * r.y_row;
    const F32v high = set1(max_row(x, r.cols));
    const float sum = sum_row(x, r.cols, [high](F32v v) __attribute__((always_inline)) { return exp(v - high); });
    const F32v shift = log(set1(sum));
    for_vectors(r.cols, [&](auto get, auto put) __attribute__((always_inline)) { put(y, (get(x) - high) - shift); });
  }
}

void rows_layer_norm(const Rows& r, const float* scale, const float* bias, float epsilon, float* mean,
                     float* inv_std) noexcept {
  const float size = static_cast<float>(r.cols);
  PollThrottle throttle;
  for (int64_t i = 0; i < r.rows && !throttle.stop(r.cols); ++i) {
    const float* const x = r.x + i * r.x_row;
    float* const y = r.y + i * r.y_row;
    const float center = sum_row(x, r.cols, [](F32v v) __attribute__((always_inline)) { return v; }) / size;
    const F32v middle = set1(center);
    const float square = sum_squares(x, r.cols, middle);
    const float inverse = 1.f / __builtin_sqrtf(square / size + epsilon);
    const F32v factor = set1(inverse);
    if (scale != nullptr && bias != nullptr) {
      for_vectors(r.cols, [&](auto get, auto put) __attribute__((always_inline)) {
        put(y, mul_add((get(x) - middle) * factor, get(scale), get(bias)));
      });
    } else {
      for_vectors(r.cols, [&](auto get, auto put) __attribute__((always_inline)) {
        F32v v = (get(x) - middle) * factor;
        if (scale != nullptr) v *= get(scale);
        if (bias != nullptr) v += get(bias);
        put(y, v);
      });
    }
    if (mean != nullptr) mean[i] = center;
    if (inv_std != nullptr) inv_std[i] = inverse;
  }
}

void rows_rms_norm(const Rows& r, const float* scale, float epsilon, float* inv_rms) noexcept {
  PollThrottle throttle;
  for (int64_t i = 0; i < r.rows && !throttle.stop(r.cols); ++i) {
    const float* const x = r.x + i * r.x_row;
    float* const y = r.y + i * r.y_row;
    const float square = sum_row(x, r.cols, [](F32v v) __attribute__((always_inline)) { return v * v; });
    const float inverse = 1.f / __builtin_sqrtf(square / static_cast<float>(r.cols) + epsilon);
    const F32v factor = set1(inverse);
    for_vectors(r.cols, [&](auto get, auto put) __attribute__((always_inline)) {
      F32v v = get(x) * factor;
      if (scale != nullptr) v *= get(scale);
      put(y, v);
    });
    if (inv_rms != nullptr) inv_rms[i] = inverse;
  }
}

float rows_attention(const AttentionRow& r) noexcept {
  const auto without = [&](float factor) {
    for (int64_t j = 0; j < r.end; ++j) r.x[j] = 0;
    return factor;
  };
  const int64_t n = r.seen;
  const bool adjusted = r.softcap > 0 || r.bias != nullptr || r.keep != nullptr;
  const float highest = adjusted ? adjust_scores(r) : max_row(r.x, n);
  if (highest == -__builtin_inff() && r.undefined == Attention::zero_if_all_hidden) {
    bool hidden = true;
    for (int64_t j = 0; j < n; ++j) hidden &= r.x[j] == highest;
    if (hidden) return without(0);
  }
  const F32v high = set1(highest);
  F32v sum[2] = {};
  int64_t j = 0;
  for (; j + 2 * kW <= n; j += 2 * kW) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      const F32v e = exp_of_negative(loadv(r.x + j + v * kW) - high);
      storev(r.x + j + v * kW, e);
      sum[v] += e;
    }
  }
  for (; j < n; j += kW) {
    const Mask m = first_lanes(min64(kW, n - j));
    const F32v e = exp_of_negative(load_mask(r.x + j, m) - high);
    store_mask(r.x + j, e, m);
    sum[0] += keep(e, m, 0.f);
  }
  for (int64_t i = n; i < r.end; ++i) r.x[i] = 0;
  const float total = sum_lanes(sum[0] + sum[1]);
  if (total > 0) return 1.f / total;
  const bool zero = r.undefined == Attention::is_zero || (n == 0 && r.undefined != Attention::is_nan);
  return without(zero ? 0.f : __builtin_nanf(""));
}

void rows_rotary(const RotaryRow& r) noexcept {
  for_vectors(r.half, [&](auto get, auto put) __attribute__((always_inline)) {
    const F32v first = get(r.x), second = get(r.x + r.half);
    put(r.y, first * get(r.cosine) + -second * get(r.sine));
    put(r.y + r.half, second * get(r.cosine + r.table) + first * get(r.sine + r.table));
  });
}

void rows_lstm_cell(int64_t n, const float* const gates[4], const float* const peephole[3], float clip, float* c,
                    float* h) noexcept {
  for_vectors(n, [&](auto get, auto put) __attribute__((always_inline)) {
    const F32v before = get(c);
    F32v in = get(gates[0]), out = get(gates[1]), forget = get(gates[2]);
    if (peephole[0] != nullptr) {
      in += get(peephole[0]) * before;
      forget += get(peephole[2]) * before;
    }
    const F32v after =
        logistic(clipped(forget, clip)) * before + logistic(clipped(in, clip)) * tanh(clipped(get(gates[3]), clip));
    if (peephole[0] != nullptr) out += get(peephole[1]) * after;
    put(c, after);
    put(h, logistic(clipped(out, clip)) * tanh(clipped(after, clip)));
  });
}

void rows_gru_gates(int64_t n, const float* const x[2], const float* const recurrent[2], float clip, float* z,
                    float* r) noexcept {
  for_vectors(n, [&](auto get, auto put) __attribute__((always_inline)) {
    put(z, logistic(clipped(get(x[0]) + get(recurrent[0]), clip)));
    put(r, logistic(clipped(get(x[1]) + get(recurrent[1]), clip)));
  });
}

void rows_gru_cell(int64_t n, const float* x, const float* recurrent, const float* reset, const float* z, float clip,
                   float* h) noexcept {
  for_vectors(n, [&](auto get, auto put) __attribute__((always_inline)) {
    F32v hidden = get(recurrent);
    if (reset != nullptr) hidden *= get(reset);
    const F32v fresh = tanh(clipped(get(x) + hidden, clip)), update = get(z);
    put(h, (1.f - update) * fresh + update * get(h));
  });
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
