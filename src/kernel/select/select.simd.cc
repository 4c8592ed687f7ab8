#include "kernel/select/select.simd.h"

#include "base/thread/poll_throttle.h"
#include "kernel/simd/f32_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

/// Returns order_key() of each lane.
FRAZIL_INLINE I32v keys(F32v x, I32v turn) {
  const I32v b = (I32v)(x + 0.0f);  // -0 becomes 0
  const I32v key = b ^ ((b >> 31) & 0x7fffffff);
  return (x == x ? key : I32v{} + 0x7fffffff) ^ turn;
}

/// Returns one bit per lane of a, set if the lane is within [low, high].
FRAZIL_INLINE std::uint32_t lanes_between(I32v a, I32v low, I32v high) {
#if defined(__AVX512F__)
  const __mmask16 fits = _mm512_cmple_epi32_mask((__m512i)low, (__m512i)a);
  return _mm512_mask_cmple_epi32_mask(fits, (__m512i)a, (__m512i)high);
#elif defined(__AVX2__)
  return static_cast<std::uint32_t>(_mm256_movemask_ps((__m256)((low <= a) & (a <= high))));
#elif defined(__x86_64__)
  return static_cast<std::uint32_t>(_mm_movemask_ps((__m128)((low <= a) & (a <= high))));
#elif defined(FRAZIL_NEON)
  return vaddvq_u32((uint32x4_t)((low <= a) & (a <= high) & I32v{1, 2, 4, 8}));
#else
  std::uint32_t m = 0;
  for (int i = 0; i < kW; ++i) m |= static_cast<std::uint32_t>(low[i] <= a[i] && a[i] <= high[i]) << i;
  return m;
#endif
}

FRAZIL_INLINE F32v lesser(F32v a, F32v b) { return b < a ? b : a; }
FRAZIL_INLINE F32v greater(F32v a, F32v b) { return a < b ? b : a; }

FRAZIL_INLINE bool any_lane(I32v truth) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask((__m512i)truth) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_ps((__m256)truth) != 0;
#elif defined(FRAZIL_NEON)
  return vmaxvq_u32((uint32x4_t)truth) != 0;
#else
  std::int32_t any = 0;
  for (int i = 0; i < kW; ++i) any |= truth[i];
  return any != 0;
#endif
}

}  // namespace

std::int64_t select_between(const float* x, std::int64_t n, bool turned, std::int32_t low, std::int32_t high,
                            std::int64_t first, Rank* out) noexcept {
  const I32v turn = I32v{} - static_cast<std::int32_t>(turned), from = I32v{} + low, to = I32v{} + high;
  Rank* at = out;
  const auto take = [&](F32v v, int64_t i, std::uint32_t among) __attribute__((always_inline)) {
    const I32v key = keys(v, turn);
    std::uint32_t hits = lanes_between(key, from, to) & among;
    if (hits == 0) [[likely]]
      return;
    std::int32_t lanes[kW];
    store(lanes, key);
    for (; hits != 0; hits &= hits - 1) {
      const int lane = __builtin_ctz(hits);
      const auto place = static_cast<std::uint32_t>(first + i + lane);
      *at++ = static_cast<Rank>(static_cast<std::uint32_t>(lanes[lane]) ^ 0x80000000u) << 32 | ~place;
    }
  };
  int64_t i = 0;
  for (; i + kW <= n; i += kW) take(loadv(x + i), i, ~0u);
  if (i < n) take(load_mask(x + i, first_lanes(n - i)), i, (1u << (n - i)) - 1);
  return at - out;
}

void select_maxima(const float* x, std::int64_t n, bool turned, std::int32_t* maxima, std::int64_t groups) noexcept {
  const I32v turn = I32v{} - static_cast<std::int32_t>(turned);
  for (int64_t j = 0; j < groups; j += kW) store(maxima + j, keys(loadv(x + j), turn));
  PollThrottle throttle;
  for (int64_t i = groups; i + groups <= n && !throttle.stop(groups); i += groups) {
    for (int64_t j = 0; j < groups; j += kW) {
      const I32v key = keys(loadv(x + i + j), turn), best = load<I32v>(maxima + j);
      store(maxima + j, key > best ? key : best);
    }
  }
}

bool select_overlap(const BoxLanes& all, std::int64_t i, const BoxLanes& kept, std::int64_t count,
                    float threshold) noexcept {
  const F32v y0 = set1(all.y0[i]), x0 = set1(all.x0[i]), y1 = set1(all.y1[i]), x1 = set1(all.x1[i]);
  const F32v area = set1(all.area[i]), least = set1(threshold);
  const auto covers = [&](auto get) __attribute__((always_inline)) {
    const F32v other = get(kept.area);
    const F32v height = lesser(y1, get(kept.y1)) - greater(y0, get(kept.y0));
    const F32v width = lesser(x1, get(kept.x1)) - greater(x0, get(kept.x0));
    const F32v both = height * width, either = (area + other) - both;
    const I32v apart = (height <= 0.0f) | (width <= 0.0f);
    return any_lane(~apart & (area > 0.0f) & (other > 0.0f) & (either > 0.0f) & (both / either > least));
  };
  int64_t k = 0;
  for (; k + kW <= count; k += kW)
    if (covers([k](const float* p) __attribute__((always_inline)) { return loadv(p + k); })) return true;
  if (k == count) return false;
  const Mask mask = first_lanes(count - k);
  return covers([k, mask](const float* p) __attribute__((always_inline)) { return load_mask(p + k, mask); });
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
