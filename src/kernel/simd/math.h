#pragma once

// Elementary functions of f32 on GCC vector types. Private to translation units that are compiled for one instruction
// set and define FRAZIL_ISA_NS, a namespace of their own. Code here must not be shared between instruction sets.
//
// All instruction sets give equal bits: FMA is explicit and emulated where the hardware has none, and nothing depends
// on the length of a vector. All functions are correct at infinities, NaN, signed zeros and for denormal operands and
// results, in the default rounding mode.
//
// Function, largest error in units in the last place, and method. The errors are over every 31st of the 2^32 operands.
// Those of pow are over 1.3e6 tiles of 1024 pairs from the whole range and around its edges.
//   exp        0.98  Cody-Waite reduction by ln 2 in two parts, polynomial of degree 7 on |r| <= ln(2)/2
//   expm1      1.43  the same polynomial without its 1, recombined as 2 (s p + (s - 1/2)), s = 2^(n-1)
//   log        0.78  m in [sqrt(1/2), sqrt(2)), log(1+f) = f - f^2/2 + f^3 q(f), deg q = 8, plus k ln 2 in two parts
//   log1p      0.82  the same on 1 + x, with the rounding error of 1 + x carried along
//   tanh       2.43  addition theorem at the nearest of eight points, rational function of degree 3 over 4 between them
//   logistic   2.48  e^x / (1 + e^x), e^x by a rational function of degree 3 over 3 after the reduction of exp
//   erf        1.11  x + x p(x^2) below 0.9; above it 1 - exp(-q(x)), as q = -log(erfc) is smooth
//   sin, cos   0.57  in f64: Cody-Waite by pi/2 in two parts; |x| >= 1e6 goes to the C library, element by element
//   pow        0.51  in f64: exp2(y log2 |x|), log2 by the series of atanh((m-1)/(m+1))
//   sqrt, floor, ceil, round, trunc   correctly rounded, exact
// The coefficients were computed for this file by weighted least squares on Chebyshev nodes, reweighted (Lawson) to the
// minimax fit. They are rounded to the type from the lowest term up, refitting the rest.

#include "kernel/simd/math_lanes.h"

namespace frazil::kernel::FRAZIL_ISA_NS {

// Rounding. Adding and subtracting 2^23 (f64: 2^52) rounds smaller numbers; larger ones are integers.

template <class V>
FRAZIL_INLINE V round(V x) {
  V a = abs(x), r = (a + Lanes<V>::kIntegral) - Lanes<V>::kIntegral;
  return a < Lanes<V>::kIntegral ? with_sign(r, x) : x;
}
#if defined(__AVX512F__)
FRAZIL_INLINE F32v round(F32v x) {
  return (F32v)_mm512_maskz_roundscale_ps(0xffff, (__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#elif defined(__AVX2__)
FRAZIL_INLINE F32v round(F32v x) {
  return (F32v)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#endif
template <class V>
FRAZIL_INLINE V floor(V x) {
  V r = round(x);
  return with_sign(abs(r > x ? r - 1 : r), x);
}
template <class V>
FRAZIL_INLINE V ceil(V x) {
  V r = round(x);
  return with_sign(abs(r < x ? r + 1 : r), x);
}
template <class V>
FRAZIL_INLINE V trunc(V x) {
  V a = abs(x), r = round(a);
  return with_sign(r > a ? r - 1 : r, x);
}

FRAZIL_INLINE F32v sqrt(F32v x) {
#if defined(__AVX512F__)
  return (F32v)_mm512_maskz_sqrt_ps(0xffff, (__m512)x);
#elif defined(__AVX2__)
  return (F32v)_mm256_sqrt_ps((__m256)x);
#elif defined(__x86_64__)
  return (F32v)_mm_sqrt_ps((__m128)x);
#elif defined(FRAZIL_NEON)
  return (F32v)vsqrtq_f32((float32x4_t)x);
#else
  for (std::size_t i = 0; i < kLanes<F32v>; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}
FRAZIL_INLINE F64v sqrt(F64v x) {
#if defined(__AVX512F__)
  return (F64v)_mm512_maskz_sqrt_pd(0xff, (__m512d)x);
#elif defined(__AVX2__)
  return (F64v)_mm256_sqrt_pd((__m256d)x);
#elif defined(__x86_64__)
  return (F64v)_mm_sqrt_pd((__m128d)x);
#elif defined(FRAZIL_NEON)
  return (F64v)vsqrtq_f64((float64x2_t)x);
#else
  for (std::size_t i = 0; i < kLanes<F64v>; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
#endif
}

/// Returns a / b, correctly rounded, from y = 1 / b and two remainders (Markstein). No lane may be unusual (see
/// unusual_lanes()), and b must not be 0.
FRAZIL_INLINE F32v quotient_by(F32v a, F32v b, F32v y) {
  F32v rough = a * y;
  F32v q = fma(fnma(b, rough, a), y, rough);
  q = fma(fnma(b, q, a), y, q);
  return copysign(q, rough);  // the remainders lose the sign of zero
}

// The exponential family.

/// The reduction of an operand x of exp: x = n ln(2) + r, |r| <= ln(2)/2.
struct Reduced {
  F32v r;
  U32v n;         // two's complement
  F32v exponent;  // n as a float
};

/// Reduces an x with |x| <= 2^13, or NaN. For NaN, r is NaN and n is unspecified.
FRAZIL_INLINE Reduced reduced(F32v x) {
  constexpr float kMagic = Lanes<F32v>::kMagic;
  F32v shifted = fma(x, 1.44269504f, splat<F32v>(kMagic)), n = shifted - kMagic;
  F32v r = fma(n, -3.19461833e-05f, fma(n, -0.693115234f, x));
  return {r, bits(shifted) - bits(splat<F32v>(kMagic)), n};
}

/// Returns e^r - 1 for |r| <= ln(2)/2.
FRAZIL_INLINE F32v expm1_of_reduced(F32v r) {
  F32v q = fma(1.97403206e-04f, r, 1.39350875e-03f);
  q = fma(q, r, 8.33357032e-03f);
  q = fma(q, r, 4.1666463e-02f);
  q = fma(q, r, 1.66666657e-01f);
  q = fma(q, r, 0.5f);
  return fma(r * r, q, r);
}

/// Returns 2^n for -126 <= n <= 127.
FRAZIL_INLINE F32v power_of_two(U32v n) { return from_bits<F32v>((n + 127) << 23); }

/// Returns m 2^n for the n of `x`, -150 <= n <= 128. The result may be denormal.
FRAZIL_INLINE F32v scaled(F32v m, const Reduced& x) {
#if defined(__AVX512F__)
  return (F32v)_mm512_maskz_scalef_ps(0xffff, (__m512)m, (__m512)x.exponent);
#else
  U32v half = (U32v)((I32v)x.n >> 1);  // in two steps, as 2^n may be out of range when the result is not
  return (m * power_of_two(half)) * power_of_two(x.n - half);
#endif
}

/// Returns e^x for -104 <= x <= 89 or NaN.
FRAZIL_INLINE F32v exp_inside(F32v x) {
  const Reduced d = reduced(x);
  return scaled(1.0f + expm1_of_reduced(d.r), d);
}

/// Returns e^x for x <= 0 or NaN.
FRAZIL_INLINE F32v exp_of_negative(F32v x) { return exp_inside(at_least(x, -104.0f)); }

FRAZIL_INLINE F32v exp(F32v x) { return exp_inside(at_least(at_most(x, 89.0f), -104.0f)); }

/// Returns e^x - 1 for -60 <= x <= 89 or NaN. A denormal x loses one bit.
FRAZIL_INLINE F32v expm1_inside(F32v x) {
  const Reduced d = reduced(x);
  F32v s = power_of_two(d.n - 1);
  return 2.0f * fma(s, expm1_of_reduced(d.r), s - 0.5f);
}

FRAZIL_INLINE F32v expm1(F32v x) { return abs(x) < 0x1p-25f ? x : expm1_inside(at_least(at_most(x, 89.0f), -20.0f)); }

/// Computes tanh(c + r) by the addition theorem, (tanh(c) e + o) / (e + tanh(c) o) with tanh(r) = o / e. Each c is near
/// the middle of the interval that rounds to its index. It is chosen so that tanh(c) is an f32 to 2e-5 ulp (accurate
/// tables, Gal 1986). The last c serves all x from 8.94 on, where tanh is 1 to 0.6 ulp.
FRAZIL_INLINE F32v tanh(F32v x) {
  constexpr float kStep = 1.375f;
  constexpr float kC[8] = {
      0, 0x1.5e22ecp+0f, 0x1.5f7744p+1f, 0x1.073fe2p+2f, 0x1.5fe8bep+2f, 0x1.b8bf2p+2f, 0x1.0a2b24p+3f, 9.625f};
  constexpr float kTanh[8] = {
      0, 0x1.c19fb6p-1f, 0x1.fbcc22p-1f, 0x1.ffb9e8p-1f, 0x1.fffb9cp-1f, 0x1.ffffbap-1f, 0x1.fffffcp-1f, 1};
  F32v a = at_most(abs(x), 10.0f);
  U32v index = bits(fma(a, 1 / kStep, splat<F32v>(Lanes<F32v>::kMagic)));
  F32v r = a - look_up(kC, index), t = look_up(kTanh, index), z = r * r;
  F32v o = fma(r * z, 9.48256403e-02f, r);
  F32v e = fma(fma(9.38874856e-03f, z, 4.2815879e-01f), z, splat<F32v>(1.0f));
  return copysign(fma(t, e, o) / fma(t, o, e), x);
}

/// Returns e^x / (1 + e^x), e^x = 2^n (e + o) / (e - o) with tanh(r / 2) = o / e.
FRAZIL_INLINE F32v logistic(F32v x) {
  const Reduced d = reduced(at_least(at_most(x, 60.0f), -104.0f));
  F32v z = d.r * d.r;
  F32v e = fma(z, 9.99800414e-02f, splat<F32v>(1.0f)), o = d.r * fma(z, 8.32338445e-03f, splat<F32v>(0.5f));
  F32v above = scaled(e + o, d);
  return above / ((e - o) + above);
}

FRAZIL_INLINE F32v erf(F32v x) {
  F32v a = abs(x), z = a * a;
  F32v s = fma(-6.06861024e-04f, z, 5.00729727e-03f);
  s = fma(s, z, -2.67753396e-02f);
  s = fma(s, z, 1.1282026e-01f);
  s = fma(s, z, -3.76125097e-01f);
  s = fma(s, z, 1.28379151e-01f);
  F32v small = fma(a, s, a);
  F32v b = at_most(a, 4.0f);
  F32v q = fma(-1.98234731e-04f, b, 3.06559703e-03f);
  q = fma(q, b, -2.23155115e-02f);
  q = fma(q, b, 1.041141e-01f);
  q = fma(q, b, 6.36975765e-01f);
  q = fma(q, b, 1.12779737f);
  q = fma(q, b, 1.66428188e-04f);
  const Reduced d = reduced(-q);
  F32v large = fma(-(1.0f + expm1_of_reduced(d.r)), power_of_two(d.n), 1.0f);
  return with_sign(a < 0.9f ? small : large, x);
}

// Logarithms.

/// Returns log((1 + f) 2^k) + c for sqrt(1/2) - 1 <= f < sqrt(2) - 1, with a small c.
FRAZIL_INLINE F32v log_of(F32v f, F32v k, F32v c) {
  F32v q = fma(6.74953908e-02f, f, -1.16701826e-01f);
  q = fma(q, f, 1.18834712e-01f);
  q = fma(q, f, -1.24062084e-01f);
  q = fma(q, f, 1.42203629e-01f);
  q = fma(q, f, -1.66679904e-01f);
  q = fma(q, f, 2.00020716e-01f);
  q = fma(q, f, -2.50000089e-01f);
  q = fma(q, f, 3.33333135e-01f);
  F32v z = f * f;
  F32v tail = fma(f * z, q, fma(k, 3.19461833e-05f, c));
  return fma(k, 0.693115234f, f + fma(z, -0.5f, tail));
}

/// The parts of a normal positive x = m 2^k, sqrt(1/2) <= m < sqrt(2).
struct Split {
  F32v m;
  I32v k;
};
FRAZIL_INLINE Split split(F32v x) {
  constexpr std::uint32_t kRootHalf = 0x3f3504f3;
  I32v k = (I32v)(bits(x) - kRootHalf) >> 23;
  return {from_bits<F32v>(bits(x) - ((U32v)k << 23)), k};
}

/// Returns `r` where 0 < x < infinity, and the special values of the logarithm elsewhere.
FRAZIL_INLINE F32v log_domain(F32v x, F32v r) {
  constexpr float kInf = __builtin_inff();
  F32v outside = x == 0.0f ? splat<F32v>(-kInf) : splat<F32v>(__builtin_nanf(""));
  r = x < kInf ? r : x;
  return x > 0.0f ? r : outside;
}

FRAZIL_INLINE F32v log(F32v x) {
  auto denormal = x < 0x1p-126f;
  F32v y = denormal ? x * 0x1p23f : x;
  auto [m, k] = split(y);
  F32v kf = __builtin_convertvector(k, F32v) - (denormal ? splat<F32v>(23.0f) : F32v{});
  return log_domain(x, log_of(m - 1.0f, kf, F32v{}));
}

FRAZIL_INLINE F32v log1p(F32v x) {
  F32v u = 1.0f + x;
  auto [m, k] = split(u);
  F32v lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);  // 1 + x = u + lost
  F32v kf = __builtin_convertvector(k, F32v);
  F32v f = kf == 0.0f ? x : m - 1.0f;
  F32v c = kf == 0.0f ? F32v{} : lost / u;
  F32v r = log_domain(u, log_of(f, kf, c));
  return abs(x) < 0x1p-25f ? x : r;
}

// In double precision.

FRAZIL_INLINE F64v widen(F32h x) { return __builtin_convertvector(x, F64v); }
FRAZIL_INLINE F32h narrow(F64v x) { return __builtin_convertvector(x, F32h); }

/// Returns the sine of x + quarter * pi/2 for |x| < 1e6; unspecified for other x.
FRAZIL_INLINE F64v sine(F64v x, std::uint64_t quarter) {
  constexpr double kMagic = Lanes<F64v>::kMagic;
  F64v shifted = x * 0.63661977236758138 + kMagic, n = shifted - kMagic;
  U64v quadrant = bits(shifted) + quarter;
  F64v r = (x - n * 1.5707963267341256) - n * 6.077100506506192e-11;  // exact: the first factor has 33 bits
  F64v z = r * r;
  F64v s = 2.7171451000584227e-06 * z - 1.9839177517262161e-04;
  s = s * z + 8.3333286873529949e-03;
  s = s * z - 1.6666666630416999e-01;
  s = r * ((s * z) + 0.99999999999544575);
  F64v c = -2.7167900565705584e-07 * z + 2.4798843115667941e-05;
  c = c * z - 1.3888878929758434e-03;
  c = c * z + 4.1666666533582079e-02;
  c = c * z - 0.499999999992705;
  c = c * z + 0.99999999999993427;
  U64v odd = 0 - (quadrant & 1);
  U64v r_bits = (bits(c) & odd) | (bits(s) & ~odd);
  return from_bits<F64v>(r_bits ^ ((quadrant & 2) << 62));
}

inline float library_sin(float x) { return __builtin_sinf(x); }
inline float library_cos(float x) { return __builtin_cosf(x); }

FRAZIL_INLINE bool any(I32h mask) {
  std::int64_t all = 0, word[sizeof(I32h) / sizeof(std::int64_t)];
  __builtin_memcpy(word, &mask, sizeof mask);
  for (std::int64_t w : word) all |= w;
  return all != 0;
}

template <float (*kLibrary)(float)>
FRAZIL_INLINE F32h sine_or(F32h x, std::uint64_t quarter) {
  constexpr float kLimit = 1e6f;
  F32h r = narrow(sine(widen(x), quarter));
  I32h outside = ~((x < kLimit) & (x > -kLimit));
  if (any(outside)) [[unlikely]] {
    for (std::size_t i = 0; i < kLanes<F32h>; ++i) {
      if (outside[i] != 0) r[i] = kLibrary(x[i]);
    }
  }
  return r;
}

FRAZIL_INLINE F32h sin(F32h x) { return sine_or<library_sin>(x, 0); }
FRAZIL_INLINE F32h cos(F32h x) { return sine_or<library_cos>(x, 1); }

/// Returns log2(a) for an a >= 0 that was converted from f32, including denormals. Infinity gives infinity, NaN gives
/// NaN.
FRAZIL_INLINE F64v log2_of(F64v a) {
  constexpr double kInf = __builtin_inf();
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e00000000, kOne = 0x3ff0000000000000, k2To52 = 0x4330000000000000;
  U64v above = bits(a) + (kOne - kRootHalf);
  F64v m = from_bits<F64v>((above & 0xfffffffffffff) + kRootHalf);
  F64v k = from_bits<F64v>((above >> 52) | k2To52) - (0x1p52 + 1023.0);
  F64v s = (m - 1.0) / (m + 1.0), z = s * s;
  F64v p = 0.24294046619460705 * z + 0.26144213182346676;
  p = p * z + 0.32061645706060371;
  p = p * z + 0.41219840101490812;
  p = p * z + 0.57707801725332286;
  p = p * z + 0.96179669392431733;
  p = p * z + 2.8853900817779272;
  F64v r = k + s * p;
  r = a < kInf ? r : a;
  return a == 0.0 ? splat<F64v>(-kInf) : r;
}

/// Returns a number that narrow() makes the f32 2^x. x is clamped to [-200, 160], outside of which 2^x is 0 or infinity
/// in f32.
FRAZIL_INLINE F64v exp2_of(F64v x) {
  constexpr double kMagic = Lanes<F64v>::kMagic;
  x = x > 160.0 ? splat<F64v>(160.0) : x;
  x = x < -200.0 ? splat<F64v>(-200.0) : x;
  F64v shifted = x + kMagic, r = x - (shifted - kMagic);
  F64v p = 1.317578588798486e-06 * r + 1.5309759662748114e-05;
  p = p * r + 1.5403852285658917e-04;
  p = p * r + 1.3333451979884513e-03;
  p = p * r + 9.6181285417519316e-03;
  p = p * r + 5.5504109394259926e-02;
  p = p * r + 2.4022650698887252e-01;
  p = p * r + 6.931471805464936e-01;
  p = p * r + 0.99999999999976175;
  return p * from_bits<F64v>((bits(shifted) - bits(splat<F64v>(kMagic)) + 1023) << 52);
}

FRAZIL_INLINE F32h pow(F32h base, F32h power) {
  F64v x = widen(base), y = widen(power), a = abs(x);
  F64v r = exp2_of(y * log2_of(a));
  F64v one = splat<F64v>(1.0);
  r = a == 1.0 ? (y == y ? one : y) : r;
  // Rounding y and y / 2, which is exact in f64, shows if y is an even integer, an odd one or not an integer.
  I64v integral = round(y) == y, odd = integral & (round(0.5 * y) != 0.5 * y);
  r = from_bits<F64v>(bits(r) | ((U64v)odd & bits(x) & Lanes<F64v>::kSign));
  I64v no_root = ~integral & (x < 0.0) & (a < __builtin_inf()) & (y == y);
  r = no_root ? splat<F64v>(__builtin_nan("")) : r;
  r = ((x == 1.0) | (y == 0.0)) ? one : r;
  return narrow(r);
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
