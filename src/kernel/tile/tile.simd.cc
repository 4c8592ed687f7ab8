#include "kernel/tile/tile.simd.h"

#include "kernel/simd/half_lanes.h"
#include "kernel/tile/quantise.h"
#include "kernel/tile/tile_table.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

/// T in memory, which may alias other types because buffers are reused.
template <class T>
struct Memory {
  typedef T Type __attribute__((may_alias, aligned(1)));  // weights may be unaligned
};
template <class T>
using Mem = typename Memory<T>::Type;

// Precedes a loop whose iterations read nothing that another one wrote: out is identical to an operand or disjoint from
// it.
#ifdef __clang__
#define FRAZIL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define FRAZIL_INDEPENDENT _Pragma("GCC ivdep")
#endif

template <class Op, class R, class T>
void unary(void* out, const void* const* in, std::size_t n) {
  auto* r = static_cast<Mem<R>*>(out);
  auto* a = static_cast<const Mem<T>*>(in[0]);
  FRAZIL_INDEPENDENT
#pragma GCC unroll 4
  for (std::size_t i = 0; i < n; ++i) r[i] = Op::run(T(a[i]));
}

template <class Op, class R, class T, unsigned kMask>
void binary(void* out, const void* const* in, std::size_t n) {
  if (n == 0) return;
  auto* r = static_cast<Mem<R>*>(out);
  auto* a = static_cast<const Mem<T>*>(in[0]);
  auto* b = static_cast<const Mem<T>*>(in[1]);
  const T a0 = a[0], b0 = b[0];
  FRAZIL_INDEPENDENT
#pragma GCC unroll 4
  for (std::size_t i = 0; i < n; ++i) r[i] = Op::run((kMask & 1) != 0 ? a0 : T(a[i]), (kMask & 2) != 0 ? b0 : T(b[i]));
}

/// Processes kChains vectors at a time from element i on, while enough remain. A core's reorder window is too short to
/// overlap their dependency chains by itself. Returns the first element that remains.
template <class Op, std::size_t kChains, class T>
std::size_t side_by_side(Mem<T>* r, const Mem<T>* a, std::size_t i, std::size_t n) {
  using V = typename Op::V;
  for (V x[kChains]; i + kChains * kLanes<V> <= n; i += kChains * kLanes<V>) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kChains; ++k) x[k] = load<V>(a + i + k * kLanes<V>);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kChains; ++k) x[k] = Op::run(x[k]);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kChains; ++k) store(r + i + k * kLanes<V>, x[k]);
  }
  return i;
}

template <class Op>
void vector_unary(void* out, const void* const* in, std::size_t n) {
  using V = typename Op::V;
  using T = typename Lanes<V>::Scalar;
  auto* r = static_cast<Mem<T>*>(out);
  auto* a = static_cast<const Mem<T>*>(in[0]);
  if (n == 1) {
    *r = Op::run(splat<V>(*a))[0];
    return;
  }
  std::size_t i = 0;
  if constexpr (kVectorBytes == 64 && Op::kChains > 4) i = side_by_side<Op, Op::kChains, T>(r, a, i, n);
  i = side_by_side<Op, 4, T>(r, a, i, n);
  i = side_by_side<Op, 1, T>(r, a, i, n);
  if (i == n) return;
  V x;
  load_partial(x, a + i, n - i);
  store_partial(r + i, Op::run(x), n - i);
}

template <class Op, unsigned kMask>
void vector_binary(void* out, const void* const* in, std::size_t n) {
  using V = typename Op::V;
  using T = typename Lanes<V>::Scalar;
  if (n == 0) return;
  auto* r = static_cast<Mem<T>*>(out);
  auto* a = static_cast<const Mem<T>*>(in[0]);
  auto* b = static_cast<const Mem<T>*>(in[1]);
  const V a0 = splat<V>(*a), b0 = splat<V>(*b);
  if (n == 1) {
    *r = Op::run(a0, b0)[0];
    return;
  }
  std::size_t i = 0;
  for (; i + kLanes<V> <= n; i += kLanes<V>) {
    store(r + i, Op::run((kMask & 1) != 0 ? a0 : load<V>(a + i), (kMask & 2) != 0 ? b0 : load<V>(b + i)));
  }
  if (i == n) return;
  V x = a0, y = b0;
  if constexpr ((kMask & 1) == 0) load_partial(x, a + i, n - i);
  if constexpr ((kMask & 2) == 0) load_partial(y, b + i, n - i);
  store_partial(r + i, Op::run(x, y), n - i);
}

#if defined(__AVX512F__)
/// Divides by one divisor that is not unusual (see unusual_lanes()), interleaved as in side_by_side.
std::size_t divide_side_by_side(Mem<float>* r, const Mem<float>* a, F32v b, std::size_t n) {
  constexpr std::size_t kChains = 4, kStep = kChains * kLanes<F32v>;
  const F32v y = 1.0f / b;
  std::size_t i = 0;
  for (F32v x[kChains]; i + kStep <= n; i += kStep) {
    __mmask16 unusual = 0;
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kChains; ++k) {
      x[k] = load<F32v>(a + i + k * kLanes<F32v>);
      unusual |= unusual_lanes(x[k]);
    }
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kChains; ++k) {
      store(r + i + k * kLanes<F32v>, unusual == 0 ? quotient_by(x[k], b, y) : x[k] / b);
    }
  }
  return i;
}

/// Divides by one divisor. A corrected reciprocal is faster than division at this vector width only.
void divide_by_one(void* out, const void* const* in, std::size_t n) {
  auto* r = static_cast<Mem<float>*>(out);
  auto* a = static_cast<const Mem<float>*>(in[0]);
  const float divisor = *static_cast<const Mem<float>*>(in[1]);
  const F32v b = splat<F32v>(divisor);
  std::size_t i = divisor != 0 && unusual_lanes(b) == 0 ? divide_side_by_side(r, a, b, n) : 0;
  for (; i < n; ++i) r[i] = a[i] / divisor;
}
#endif

template <class T, unsigned kMask>
void choose(void* out, const void* const* in, std::size_t n) {
  if (n == 0) return;
  auto* r = static_cast<Mem<T>*>(out);
  auto* c = static_cast<const U8*>(in[0]);
  auto* a = static_cast<const Mem<T>*>(in[1]);
  auto* b = static_cast<const Mem<T>*>(in[2]);
  const T a0 = a[0], b0 = b[0];
  if constexpr ((kMask & 1) != 0) {
    const bool first = *c != 0;
    auto* chosen = first ? a : b;
    if ((kMask & (first ? 2 : 4)) != 0) {
      const T value = *chosen;
      for (std::size_t i = 0; i < n; ++i) r[i] = value;
    } else if (chosen != r) {
      __builtin_memcpy(r, chosen, n * sizeof(T));
    }
  } else {
    FRAZIL_INDEPENDENT
#pragma GCC unroll 4
    for (std::size_t i = 0; i < n; ++i) {
      T x = (kMask & 2) != 0 ? a0 : T(a[i]), y = (kMask & 4) != 0 ? b0 : T(b[i]);
      r[i] = c[i] != 0 ? x : y;
    }
  }
}

/// The Make of functions on tiles (see tile_table.h). Bit k of `mask` means that operand k is one element.
struct TileMaker {
  using Fn = TileFn;
  unsigned mask = 0;

  template <class Op, class R, class T>
  constexpr Fn one() const {
    return mask == 0 ? unary<Op, R, T> : nullptr;
  }
  template <class Op, class R, class T>
  constexpr Fn two() const {
    constexpr Fn kByMask[] = {binary<Op, R, T, 0>, binary<Op, R, T, 1>, binary<Op, R, T, 2>};
    return mask < 3 ? kByMask[mask] : nullptr;
  }
  template <class Op>
  constexpr Fn vector_one() const {
    return mask == 0 ? vector_unary<Op> : nullptr;
  }
  template <class Op>
  constexpr Fn vector_two() const {
    constexpr Fn kByMask[] = {vector_binary<Op, 0>, vector_binary<Op, 1>, vector_binary<Op, 2>};
    return mask < 3 ? kByMask[mask] : nullptr;
  }
  template <class T>
  constexpr Fn select() const {
    constexpr Fn kByMask[] = {choose<T, 0>, choose<T, 1>, choose<T, 2>, choose<T, 3>,
                              choose<T, 4>, choose<T, 5>, choose<T, 6>, choose<T, 7>};
    return mask < 8 ? kByMask[mask] : nullptr;
  }
  constexpr Fn divide() const {
#if defined(__AVX512F__)
    if (mask == 2) return divide_by_one;
#endif
    return two<Div, float, float>();
  }
};

template <class To, class From>
void cast(void* out, const void* const* in, std::size_t n) {
  auto* r = static_cast<Mem<To>*>(out);
  auto* a = static_cast<const Mem<From>*>(in[0]);
  FRAZIL_INDEPENDENT
#pragma GCC unroll 4
  for (std::size_t i = 0; i < n; ++i) r[i] = Cast::run<To>(From(a[i]));
}

template <class From>
void cast_to_bool(void* out, const void* const* in, std::size_t n) {
  auto* r = static_cast<U8*>(out);
  auto* a = static_cast<const Mem<From>*>(in[0]);
  FRAZIL_INDEPENDENT
#pragma GCC unroll 4
  for (std::size_t i = 0; i < n; ++i) r[i] = a[i] != 0;
}

template <std::size_t kSize>
void copy(void* out, const void* const* in, std::size_t n) {
  if (out != in[0] && n != 0) __builtin_memcpy(out, in[0], n * kSize);
}

template <class To, class From>
TileFn find_cast_of() {
  if constexpr (kIsFloat<To> == kIsFloat<From> && sizeof(To) == sizeof(From)) {
    return copy<sizeof(To)>;
  } else if constexpr (!kIsFloat<To> && !kIsFloat<From>) {
    // Narrowing keeps the low bits regardless of sign; widening depends on the sign of From.
    if constexpr (sizeof(To) < sizeof(From)) {
      return cast<Unsigned<To>, Unsigned<From>>;
    } else {
      return cast<Unsigned<To>, From>;
    }
  } else {
    return cast<To, From>;
  }
}

template <class From>
TileFn find_cast_from(Elem to) {
  switch (to) {
    case Elem::boolean: return cast_to_bool<From>;
    case Elem::i8: return find_cast_of<I8, From>();
    case Elem::i16: return find_cast_of<I16, From>();
    case Elem::i32: return find_cast_of<I32, From>();
    case Elem::i64: return find_cast_of<I64, From>();
    case Elem::u8: return find_cast_of<U8, From>();
    case Elem::u16: return find_cast_of<U16, From>();
    case Elem::u32: return find_cast_of<U32, From>();
    case Elem::u64: return find_cast_of<U64, From>();
    case Elem::f32: return find_cast_of<float, From>();
    case Elem::f64: return find_cast_of<double, From>();
    default: return nullptr;
  }
}

template <class Number>
void widen(void* out, const void* const* in, std::size_t n) {
  auto* r = static_cast<float*>(out);
  auto* a = static_cast<const U16*>(in[0]);
  std::size_t i = 0;
#pragma GCC unroll 4
  for (; i + kLanes<F32v> <= n; i += kLanes<F32v>) storev(r + i, Number::widened(load_halves(a + i)));
  if (i < n) store_partial(r + i, Number::widened(load_halves(a + i, static_cast<I64>(n - i))), n - i);
}

template <class Number>
void narrow(void* out, const void* const* in, std::size_t n) {
  auto* r = static_cast<U16*>(out);
  auto* a = static_cast<const float*>(in[0]);
  std::size_t i = 0;
#pragma GCC unroll 4
  for (; i + kLanes<F32v> <= n; i += kLanes<F32v>) store_halves(r + i, Number::narrowed(loadv(a + i)));
  if (i == n) return;
  F32v x;
  load_partial(x, a + i, n - i);
  store_halves(r + i, Number::narrowed(x), static_cast<I64>(n - i));
}

template <bool kSigned>
void quantise(void* out, const void* const* in, std::size_t n) {
  constexpr std::size_t kLane = kLanes<F32v>;
  auto* r = static_cast<U8*>(out);
  auto* a = static_cast<const float*>(in[0]);
  const auto one = [](const void* p) { return *static_cast<const Mem<float>*>(p); };
  const Quantiser<kSigned> quantiser(one(in[1]), one(in[2]));
  std::size_t i = 0;
  for (; i + 4 * kLane <= n; i += 4 * kLane) {
    const F32v x[4] = {loadv(a + i), loadv(a + i + kLane), loadv(a + i + 2 * kLane), loadv(a + i + 3 * kLane)};
    quantiser.bytes(x, r + i);
  }
  for (; i + kLane <= n; i += kLane) {
    const F32v x[1] = {loadv(a + i)};
    quantiser.bytes(x, r + i);
  }
  if (i == n) return;
  F32v x[1];
  U8 bytes[kLane];
  load_partial(x[0], a + i, n - i);
  quantiser.bytes(x, bytes);
  __builtin_memcpy(r + i, bytes, n - i);
}

}  // namespace

TileFn find_quantise(Elem to) { return to == Elem::i8 ? quantise<true> : quantise<false>; }

TileFn find_tile(ScalarOp op, Elem elem, unsigned scalar_mask) { return scalar_op(op, elem, TileMaker{scalar_mask}); }

TileFn find_cast(Elem from, Elem to) {
  if (from == Elem::f32 && to == Elem::f16) return narrow<F16>;
  if (from == Elem::f32 && to == Elem::bf16) return narrow<Bf16>;
  switch (from) {
    case Elem::f16: return to == Elem::f32 ? widen<F16> : nullptr;
    case Elem::bf16: return to == Elem::f32 ? widen<Bf16> : nullptr;
    case Elem::boolean:
    case Elem::u8: return find_cast_from<U8>(to);
    case Elem::i8: return find_cast_from<I8>(to);
    case Elem::i16: return find_cast_from<I16>(to);
    case Elem::i32: return find_cast_from<I32>(to);
    case Elem::i64: return find_cast_from<I64>(to);
    case Elem::u16: return find_cast_from<U16>(to);
    case Elem::u32: return find_cast_from<U32>(to);
    case Elem::u64: return find_cast_from<U64>(to);
    case Elem::f32: return find_cast_from<float>(to);
    case Elem::f64: return find_cast_from<double>(to);
    default: return nullptr;
  }
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
