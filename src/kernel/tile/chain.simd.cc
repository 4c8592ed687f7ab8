#include "kernel/tile/chain.simd.h"

#include "kernel/simd/math.h"
#include "kernel/tile/requantise.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

using std::int64_t;
using Op = ChainStep::Op;
using From = ChainStep::From;

constexpr int kW = static_cast<int>(kLanes<F32v>);
constexpr int kRun = static_cast<int>(kChainRun) / kW;  ///< vectors that pass through together
using U8w = std::uint8_t __attribute__((vector_size(kW)));
using I8w = std::int8_t __attribute__((vector_size(kW)));

/// The elements that pass through together: `n` of them, all unless Tail.
struct Run {
  const void* const* operands;
  void* const* results;
  int64_t at, n;
  float (*slots)[kChainRun];
};

#if defined(__AVX512F__)
constexpr bool kMasks = true;
FRAZIL_INLINE __mmask16 lanes_of(int64_t n, int v) {
  const int64_t left = n - v * kW;
  return left >= kW ? 0xffff : left <= 0 ? 0 : static_cast<__mmask16>((1u << left) - 1);
}
#else
constexpr bool kMasks = false;
#endif

template <bool Tail>
FRAZIL_INLINE F32v get_f32(const float* p, int v, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (Tail) return (F32v)_mm512_maskz_loadu_ps(lanes_of(n, v), p + v * kW);
#endif
  (void)n;
  return load<F32v>(p + v * kW);
}

template <bool Tail>
FRAZIL_INLINE I32v get_i32(const std::int32_t* p, int v, int64_t n) {
#if defined(__AVX512F__)
  if constexpr (Tail) return (I32v)_mm512_maskz_loadu_epi32(lanes_of(n, v), p + v * kW);
#endif
  (void)n;
  return load<I32v>(p + v * kW);
}

template <bool Tail>
FRAZIL_INLINE F32v get_byte(const std::uint8_t* p, int v, int64_t n, bool is_signed) {
#if defined(__AVX512F__)
  const __m128i bytes =
      Tail ? _mm_maskz_loadu_epi8(lanes_of(n, v), p + v * kW) : _mm_loadu_si128((const __m128i_u*)(p + v * kW));
  return __builtin_convertvector(
      (I32v)(is_signed ? _mm512_maskz_cvtepi8_epi32(0xffff, bytes) : _mm512_maskz_cvtepu8_epi32(0xffff, bytes)), F32v);
#elif defined(__AVX2__)
  (void)n;
  const __m128i bytes = _mm_loadl_epi64((const __m128i_u*)(p + v * kW));
  return (F32v)_mm256_cvtepi32_ps(is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
#else
  (void)n;
  const auto bytes = load<U8w>(p + v * kW);
  const I32v wide = is_signed ? __builtin_convertvector((I8w)bytes, I32v) : __builtin_convertvector(bytes, I32v);
  return __builtin_convertvector(wide, F32v);
#endif
}

template <bool Tail>
FRAZIL_INLINE void put_f32(float* p, int v, int64_t n, F32v x) {
#if defined(__AVX512F__)
  if constexpr (Tail) return _mm512_mask_storeu_ps(p + v * kW, lanes_of(n, v), (__m512)x);
#endif
  (void)n;
  store(p + v * kW, x);
}

FRAZIL_INLINE F32v real(I32v x) { return __builtin_convertvector(x, F32v); }

/// One element of any type.
FRAZIL_INLINE float single(const void* at, Elem elem) {
  switch (elem) {
    case Elem::u8: return *static_cast<const std::uint8_t*>(at);
    case Elem::i8: return *static_cast<const std::int8_t*>(at);
    case Elem::i32: {
      std::int32_t x;
      __builtin_memcpy(&x, at, sizeof x);
      return static_cast<float>(x);
    }
    default: {
      float x;
      __builtin_memcpy(&x, at, sizeof x);
      return x;
    }
  }
}

template <bool Tail, int N>
FRAZIL_INLINE void load_step(const ChainStep& s, const Run& r, F32v (&x)[N]) {
  const void* const from = r.operands[s.index];
  if (s.repeated) {
    const F32v one = splat<F32v>(single(from, s.elem));
#pragma GCC unroll 16
    for (int v = 0; v < N; ++v) x[v] = one;
    return;
  }
  if (s.elem == Elem::f32) {
    const float* p = static_cast<const float*>(from) + r.at;
#pragma GCC unroll 16
    for (int v = 0; v < N; ++v) x[v] = get_f32<Tail>(p, v, r.n);
    return;
  }
  if (s.elem == Elem::i32) {
    const auto* p = static_cast<const std::int32_t*>(from) + r.at;
#pragma GCC unroll 16
    for (int v = 0; v < N; ++v) x[v] = real(get_i32<Tail>(p, v, r.n));
    return;
  }
  const auto* p = static_cast<const std::uint8_t*>(from) + r.at;
  const bool is_signed = s.elem == Elem::i8;
#pragma GCC unroll 16
  for (int v = 0; v < N; ++v) x[v] = get_byte<Tail>(p, v, r.n, is_signed);
}

template <bool Tail, int N>
FRAZIL_INLINE void load_sum_step(const ChainStep& s, const Run& r, F32v (&x)[N]) {
  const auto* a = static_cast<const std::int32_t*>(r.operands[s.index]) + r.at;
  const auto* b = static_cast<const std::int32_t*>(r.operands[s.other]) + r.at;
#pragma GCC unroll 16
  for (int v = 0; v < N; ++v) {
    x[v] = real((I32v)((U32v)get_i32<Tail>(a, v, r.n) + (U32v)get_i32<Tail>(b, v, r.n)));
  }
}

/// A load, a factor and an offset.
template <bool Tail, int N>
FRAZIL_INLINE void load_scaled_step(const ChainStep& s, const Run& r, F32v (&x)[N]) {
  const auto* a = static_cast<const std::int32_t*>(r.operands[s.index]) + r.at;
  const auto* factor = static_cast<const float*>(r.operands[s.other]) + r.at;
  const auto* offset = static_cast<const float*>(r.operands[s.third]) + r.at;
#pragma GCC unroll 16
  for (int v = 0; v < N; ++v) {
    x[v] = real(get_i32<Tail>(a, v, r.n)) * get_f32<Tail>(factor, v, r.n);
    x[v] += get_f32<Tail>(offset, v, r.n);
  }
}

FRAZIL_INLINE float one_of(const ChainStep& s, const Run& r) {
  return s.from == From::one ? single(r.operands[s.index], Elem::f32) : s.number;
}

/// x = f(x, second operand).
template <bool Tail, int N, class F>
FRAZIL_INLINE void with(const ChainStep& s, const Run& r, F32v (&x)[N], F f) {
  if (s.from == From::constant || s.from == From::one) {
    const F32v y = splat<F32v>(one_of(s, r));
#pragma GCC unroll 16
    for (int v = 0; v < N; ++v) x[v] = f(x[v], y);
    return;
  }
  const float* p = s.from == From::slot ? r.slots[s.index] : static_cast<const float*>(r.operands[s.index]) + r.at;
#pragma GCC unroll 16
  for (int v = 0; v < N; ++v) x[v] = f(x[v], get_f32<Tail>(p, v, r.n));
}

/// a > b ? a : b; NaN if either is.
FRAZIL_INLINE F32v most(F32v a, F32v b) {
#if defined(__AVX512F__)
  const __m512 r = _mm512_maskz_max_ps(0xffff, (__m512)a, (__m512)b);
  return (F32v)_mm512_mask_mov_ps(r, _mm512_cmp_ps_mask((__m512)a, (__m512)a, _CMP_UNORD_Q), (__m512)a);
#else
  const F32v r = a > b ? a : b;
  return a == a ? r : a;
#endif
}
FRAZIL_INLINE F32v least(F32v a, F32v b) {
#if defined(__AVX512F__)
  const __m512 r = _mm512_maskz_min_ps(0xffff, (__m512)a, (__m512)b);
  return (F32v)_mm512_mask_mov_ps(r, _mm512_cmp_ps_mask((__m512)a, (__m512)a, _CMP_UNORD_Q), (__m512)a);
#else
  const F32v r = a < b ? a : b;
  return a == a ? r : a;
#endif
}

struct Limits {
  float low, high;
  explicit Limits(Elem e) : low(e == Elem::i8 ? -128 : 0), high(e == Elem::i8 ? 127 : 255) {}
};

/// Truncated; NaN gives 0.
FRAZIL_INLINE F32v to_byte(F32v x, Limits l) {
  x = x == x ? x : F32v{};
  x = at_most(at_least(x, l.low), l.high);
  return real(__builtin_convertvector(x, I32v));
}

FRAZIL_INLINE float zero_of(const ChainStep& s, const Run& r) {
  return s.zero_from == ChainStep::Zero::one ? single(r.operands[s.other], Elem::f32) : s.zero;
}

/// What `quantise` means, step by step.
FRAZIL_INLINE F32v quantised(F32v x, F32v scale, float zero, const ChainStep& s) {
  F32v y = round(x / scale);
  if (s.zero_from != ChainStep::Zero::none) y += zero;
  y = at_most(at_least(y, s.low), s.high);
  return to_byte(y, Limits(s.elem));
}

#if defined(__AVX512F__)
/// Scales whose reciprocal is a normal number.
FRAZIL_INLINE bool has_reciprocal(float scale) {
  const float a = __builtin_fabsf(scale);
  return a > 0x1p-100F && a < 0x1p100F;
}

/// By the reciprocal. Where a quotient is so near to the middle of two integers that its own rounding counts, it is
/// divided; one that is far outside of the limits, and off by more, is not.
template <int N>
FRAZIL_INLINE void quantise_step(const ChainStep& s, const Run& r, F32v (&x)[N]) {
  constexpr float kSure = 0.4995F;  // quotients up to 2^10 are off by less than 2^-12
  const float scale = one_of(s, r), zero = zero_of(s, r);
  const F32v divisor = splat<F32v>(scale), factor = 1.0F / divisor;
  const bool fast = has_reciprocal(scale);
#pragma GCC unroll 16
  for (int v = 0; v < N; ++v) {
    const F32v q = x[v] * factor;
    F32v y = round(q);
    const F32v off = abs(q - y);
    const __mmask16 unsure = _mm512_cmp_ps_mask((__m512)off, _mm512_set1_ps(kSure), _CMP_NLT_UQ);
    if (!fast || unsure != 0) [[unlikely]] {
      x[v] = quantised(x[v], divisor, zero, s);
      continue;
    }
    y += zero;  // 0 where there is none: integers have no -0
    x[v] = (F32v)_mm512_maskz_min_ps(0xffff, _mm512_maskz_max_ps(0xffff, (__m512)y, _mm512_set1_ps(s.low)),
                                     _mm512_set1_ps(s.high));
  }
}
#else
template <int N>
FRAZIL_INLINE void quantise_step(const ChainStep& s, const Run& r, F32v (&x)[N]) {
  const F32v divisor = splat<F32v>(one_of(s, r));
  const float zero = zero_of(s, r);
  for (int v = 0; v < N; ++v) x[v] = quantised(x[v], divisor, zero, s);
}
#endif

/// Values of bytes.
template <bool Tail, int N>
FRAZIL_INLINE void store_bytes(std::uint8_t* to, const Run& r, const F32v (&x)[N]) {
#if defined(__AVX512F__)
  // Bytes of either sign: their low eight bits.
#pragma GCC unroll 4
  for (int v = 0; v < N; ++v) {
    const __m128i bytes = _mm512_maskz_cvtepi32_epi8(0xffff, (__m512i) __builtin_convertvector(x[v], I32v));
    if constexpr (Tail)
      _mm_mask_storeu_epi8(to + v * kW, lanes_of(r.n, v), bytes);
    else
      _mm_storeu_si128((__m128i_u*)(to + v * kW), bytes);
  }
#else
  (void)r;
  for (int v = 0; v < N; ++v) {
    const I32v whole = __builtin_convertvector(x[v], I32v);
    for (int i = 0; i < kW; ++i) to[v * kW + i] = static_cast<std::uint8_t>(whole[i]);
  }
#endif
}

template <bool Tail, int N>
FRAZIL_INLINE void store_step(const ChainStep& s, const Run& r, const F32v (&x)[N]) {
  if (s.elem != Elem::f32) return store_bytes<Tail, N>(static_cast<std::uint8_t*>(r.results[s.index]) + r.at, r, x);
  float* const to = static_cast<float*>(r.results[s.index]) + r.at;
#pragma GCC unroll 16
  for (int v = 0; v < N; ++v) put_f32<Tail>(to, v, r.n, x[v]);
}

template <bool Tail, int N>
FRAZIL_INLINE void step(const ChainStep& s, const Run& r, F32v (&x)[N]) {
  switch (s.op) {
    case Op::load: return load_step<Tail, N>(s, r, x);
    case Op::load_sum: return load_sum_step<Tail, N>(s, r, x);
    case Op::load_scaled: return load_scaled_step<Tail, N>(s, r, x);
    case Op::save:
#pragma GCC unroll 16
      for (int v = 0; v < N; ++v) store(r.slots[s.index] + v * kW, x[v]);
      return;
    case Op::restore:
#pragma GCC unroll 16
      for (int v = 0; v < N; ++v) x[v] = load<F32v>(r.slots[s.index] + v * kW);
      return;
    case Op::add: return with<Tail, N>(s, r, x, [](F32v a, F32v b) { return a + b; });
    case Op::sub: return with<Tail, N>(s, r, x, [](F32v a, F32v b) { return a - b; });
    case Op::sub_from: return with<Tail, N>(s, r, x, [](F32v a, F32v b) { return b - a; });
    case Op::mul: return with<Tail, N>(s, r, x, [](F32v a, F32v b) { return a * b; });
    case Op::div: return with<Tail, N>(s, r, x, [](F32v a, F32v b) { return a / b; });
    case Op::div_into: return with<Tail, N>(s, r, x, [](F32v a, F32v b) { return b / a; });
    case Op::max: return with<Tail, N>(s, r, x, [](F32v a, F32v b) { return most(a, b); });
    case Op::max_of: return with<Tail, N>(s, r, x, [](F32v a, F32v b) { return most(b, a); });
    case Op::min: return with<Tail, N>(s, r, x, [](F32v a, F32v b) { return least(a, b); });
    case Op::min_of: return with<Tail, N>(s, r, x, [](F32v a, F32v b) { return least(b, a); });
    case Op::round:
#pragma GCC unroll 16
      for (int v = 0; v < N; ++v) x[v] = round(x[v]);
      return;
    case Op::to_byte: {
      const Limits limits(s.elem);
#pragma GCC unroll 16
      for (int v = 0; v < N; ++v) x[v] = to_byte(x[v], limits);
      return;
    }
    case Op::quantise: return quantise_step(s, r, x);
    case Op::store: return store_step<Tail, N>(s, r, x);
  }
}

template <bool Tail, int N = kRun>
void pass(const ChainStep* first, const ChainStep* past, const Run& r) {
  F32v x[N] = {};
  for (const ChainStep* s = first; s != past; ++s) step<Tail, N>(*s, r, x);
}

/// Through copies that may be read and written to their end.
[[maybe_unused]] void padded_tail(const ChainStep* first, const ChainStep* past, const Run& r) {
  alignas(64) std::byte in[kMostChainOperands][4 * kChainRun], out[kMostChainOperands][4 * kChainRun];
  const void* operands[kMostChainOperands];
  void* results[kMostChainOperands];
  const auto width = [](Elem e) { return e == Elem::u8 || e == Elem::i8 ? 1 : 4; };
  const auto copy = [&](int index, Elem e) {
    const int64_t size = width(e);
    for (int64_t i = 0; i < 4 * kChainRun; ++i) in[index][i] = std::byte{0};
    __builtin_memcpy(in[index], static_cast<const std::byte*>(r.operands[index]) + r.at * size,
                     static_cast<std::size_t>(r.n * size));
    operands[index] = in[index];
  };
  for (const ChainStep* s = first; s != past; ++s) {
    const bool loads = s->op <= Op::load_scaled;
    const bool has_second = s->op >= Op::add && s->op <= Op::quantise && s->op != Op::round && s->op != Op::to_byte;
    const bool reads = loads || (has_second && (s->from == From::one || s->from == From::each));
    if (reads) operands[s->index] = r.operands[s->index];
    if (s->op == Op::quantise && s->zero_from == ChainStep::Zero::one) operands[s->other] = r.operands[s->other];
    if (s->op == Op::store) results[s->index] = out[s->index];
    if (s->op == Op::load_sum) copy(s->other, Elem::i32);
    if (s->op == Op::load_scaled) copy(s->other, Elem::f32), copy(s->third, Elem::f32);
    if (loads && !s->repeated) copy(s->index, s->op == Op::load ? s->elem : Elem::i32);
    if (has_second && s->from == From::each) copy(s->index, Elem::f32);
  }
  pass<false>(first, past, {operands, results, 0, kChainRun, r.slots});
  for (const ChainStep* s = first; s != past; ++s) {
    if (s->op != Op::store) continue;
    const int64_t size = width(s->elem);
    __builtin_memcpy(static_cast<std::byte*>(r.results[s->index]) + r.at * size, out[s->index],
                     static_cast<std::size_t>(r.n * size));
  }
}

void chain_row(const ChainStep* first, const ChainStep* past, Run r, int64_t n) {
  for (; r.at + kChainRun <= n; r.at += kChainRun) pass<false>(first, past, r);
  if (r.at == n) return;
  r.n = n - r.at;
  if constexpr (kMasks)
    pass<true>(first, past, r);
  else
    padded_tail(first, past, r);
}

}  // namespace

void chain(const ChainStep* first, const ChainStep* past, const void** operands, void** results, int64_t n,
           const ChainRows& rows) {
  const auto move = [&](int64_t count) {
    for (std::size_t k = 0; k < rows.operand_steps.size(); ++k)
      operands[k] = static_cast<const std::byte*>(operands[k]) + count * rows.operand_steps[k];
    for (std::size_t k = 0; k < rows.result_steps.size(); ++k)
      results[k] = static_cast<std::byte*>(results[k]) + count * rows.result_steps[k];
  };
#if defined(__AVX512F__)
  if (requantise(first, past, operands, results, n, rows)) return move(rows.rows - 1);
#endif
  alignas(64) float slots[kMostChainSlots][kChainRun];
  for (int64_t row = 0;;) {
    chain_row(first, past, {operands, results, 0, kChainRun, slots}, n);
    if (++row >= rows.rows) return;
    move(1);
  }
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
