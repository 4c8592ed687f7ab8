// Reductions.
//
// A row is folded into 256 bytes of lanes, a column one element at a time. Both are folded in blocks of 64 steps, which
// are then combined in pairs. The tree does not depend on the width of vector registers.

#include "kernel/row/reduce.simd.h"

#include <cstdint>

#include "base/thread/poll_throttle.h"

#define FRAZIL_INLINE [[gnu::always_inline]] inline

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

using std::int64_t;

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX2__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif

constexpr int kLaneBytes = 256;
constexpr int64_t kBlockSteps = 64;
constexpr int kLevels = 60;

template <class T>
struct Traits;
#define FRAZIL_TRAITS(T, U, low, high)                   \
  template <>                                            \
  struct Traits<T> {                                     \
    typedef T Vec __attribute__((vector_size(kBytes)));  \
    typedef U Uvec __attribute__((vector_size(kBytes))); \
    using Unsigned = U;                                  \
    static constexpr T kLow = low, kHigh = high;         \
  };
FRAZIL_TRAITS(float, float, -__builtin_inff(), __builtin_inff())
FRAZIL_TRAITS(double, double, -__builtin_inf(), __builtin_inf())
FRAZIL_TRAITS(std::int8_t, std::uint8_t, INT8_MIN, INT8_MAX)
FRAZIL_TRAITS(std::uint8_t, std::uint8_t, 0, UINT8_MAX)
FRAZIL_TRAITS(std::int32_t, std::uint32_t, INT32_MIN, INT32_MAX)
FRAZIL_TRAITS(std::int64_t, std::uint64_t, INT64_MIN, INT64_MAX)
#undef FRAZIL_TRAITS

// Operators on X, which is T or a vector of T. UX is the unsigned type of the same shape.

struct Plain {
  template <class UX, class X>
  FRAZIL_INLINE static X map(X x) {
    return x;
  }
};
struct Add {
  template <class UX, class X>
  FRAZIL_INLINE static X fold(X a, X b) {
    return (X)((UX)a + (UX)b);
  }
};
template <class T>
struct Sum : Plain, Add {
  static constexpr T kIdentity = 0;
};
template <class T>
struct SumSquare : Add {
  static constexpr T kIdentity = 0;
  template <class UX, class X>
  FRAZIL_INLINE static X map(X x) {
    return (X)((UX)x * (UX)x);
  }
};
template <class T>
struct SumAbs : Add {
  static constexpr T kIdentity = 0;
  template <class UX, class X>
  FRAZIL_INLINE static X map(X x) {
    const X negated = (X)(X{} - (UX)x);
    return x > 0 ? x : negated;
  }
};
template <class T>
struct Prod : Plain {
  static constexpr T kIdentity = 1;
  template <class UX, class X>
  FRAZIL_INLINE static X fold(X a, X b) {
    return (X)((UX)a * (UX)b);
  }
};
template <class T>
struct Max : Plain {
  static constexpr T kIdentity = Traits<T>::kLow;
  template <class UX, class X>
  FRAZIL_INLINE static X fold(X a, X b) {
    return ((b > a) | (b != b)) ? b : a;
  }
};
template <class T>
struct Min : Plain {
  static constexpr T kIdentity = Traits<T>::kHigh;
  template <class UX, class X>
  FRAZIL_INLINE static X fold(X a, X b) {
    return ((b < a) | (b != b)) ? b : a;
  }
};

template <class V, class T>
FRAZIL_INLINE V loadx(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

/// A pairwise reduction of blocks as they arrive. Block i is folded with as many earlier partial results as i + 1 has
/// trailing zero bits.
template <class X, int N>
struct Cascade {
  X parts[kLevels][N];
  int depth = 0;
  int64_t count = 0;

  template <class F>
  FRAZIL_INLINE void add(X (&block)[N], F fold) {
    for (int64_t bits = count++; (bits & 1) != 0; bits >>= 1) {
      --depth;
      for (int i = 0; i < N; ++i) block[i] = fold(parts[depth][i], block[i]);
    }
    for (int i = 0; i < N; ++i) parts[depth][i] = block[i];
    ++depth;
  }
  template <class F>
  FRAZIL_INLINE void finish(F fold) {
    for (; depth > 1; --depth)
      for (int i = 0; i < N; ++i) parts[depth - 2][i] = fold(parts[depth - 2][i], parts[depth - 1][i]);
  }
};

/// Folds n elements, at most kBlockSteps * lanes.
template <class T, class Op>
T row_block(const T* x, int64_t n) {
  using V = typename Traits<T>::Vec;
  using UV = typename Traits<T>::Uvec;
  using U = typename Traits<T>::Unsigned;
  constexpr int kVecs = kLaneBytes / kBytes, kPerVec = kBytes / static_cast<int>(sizeof(T));
  constexpr int kAll = kVecs * kPerVec;
  T lanes[kAll];
  int64_t i = 0;
  if (n >= kAll) {
    V acc[kVecs];
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) acc[v] = Op::template map<UV>(loadx<V>(x + v * kPerVec));
    for (i = kAll; i + kAll <= n; i += kAll) {
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v)
        acc[v] = Op::template fold<UV>(acc[v], Op::template map<UV>(loadx<V>(x + i + v * kPerVec)));
    }
    __builtin_memcpy(lanes, acc, sizeof lanes);
  } else {
    for (int l = 0; l < kAll; ++l) lanes[l] = Op::kIdentity;
  }
  for (int64_t l = 0; l < n - i; ++l) lanes[l] = Op::template fold<U>(lanes[l], Op::template map<U>(x[i + l]));
#pragma GCC unroll 8
  for (int half = kAll / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lanes[l] = Op::template fold<U>(lanes[l], lanes[l + half]);
  return lanes[0];
}

template <class T, class Op>
T row(const T* x, int64_t n) {
  using U = typename Traits<T>::Unsigned;
  constexpr int64_t kShort = 16, kBlock = kBlockSteps * kLaneBytes / static_cast<int64_t>(sizeof(T));
  if (n <= kShort) {
    T acc = Op::kIdentity;
    for (int64_t i = 0; i < n; ++i) acc = Op::template fold<U>(acc, Op::template map<U>(x[i]));
    return acc;
  }
  if (n <= kBlock) return row_block<T, Op>(x, n);
  const auto fold = [](T a, T b) { return Op::template fold<U>(a, b); };
  Cascade<T, 1> cascade;
  PollThrottle throttle;
  for (int64_t i = 0; i < n && !throttle.stop(kBlock); i += kBlock) {
    T part[1] = {row_block<T, Op>(x + i, n - i < kBlock ? n - i : kBlock)};
    cascade.add(part, fold);
  }
  cascade.finish(fold);
  return cascade.parts[0][0];
}

/// Reduces N adjacent X over `extent` rows, which are `step` elements apart, to y[N].
template <class T, class Op, class X, class UX, int N>
void columns(const T* x, int64_t step, int64_t extent, T* y) {
  constexpr int kPer = static_cast<int>(sizeof(X) / sizeof(T));
  const auto fold = [](X a, X b) __attribute__((always_inline)) { return Op::template fold<UX>(a, b); };
  const auto block = [&](int64_t r, int64_t end, X(&acc)[N]) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) acc[i] = Op::template map<UX>(loadx<X>(x + r * step + i * kPer));
    for (++r; r < end; ++r) {
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) acc[i] = fold(acc[i], Op::template map<UX>(loadx<X>(x + r * step + i * kPer)));
    }
  };
  if (extent <= kBlockSteps) {
    X acc[N];
    block(0, extent, acc);
    __builtin_memcpy(y, acc, sizeof acc);
    return;
  }
  Cascade<X, N> cascade;
  PollThrottle throttle;
  for (int64_t r = 0; r < extent && !throttle.stop(kBlockSteps * N * kPer); r += kBlockSteps) {
    X acc[N];
    block(r, r + kBlockSteps < extent ? r + kBlockSteps : extent, acc);
    cascade.add(acc, fold);
  }
  cascade.finish(fold);
  __builtin_memcpy(y, cascade.parts[0], sizeof cascade.parts[0]);
}

template <class T, class Op>
void run(const T* x, T* y, int64_t outer, int64_t extent, int64_t inner) {
  using V = typename Traits<T>::Vec;
  using UV = typename Traits<T>::Uvec;
  constexpr int kPerVec = kBytes / static_cast<int>(sizeof(T));
  if (extent == 0) {
    for (int64_t i = 0; i < outer * inner; ++i) y[i] = Op::kIdentity;
    return;
  }
  PollThrottle throttle;
  if (inner == 1) {
    for (int64_t o = 0; o < outer && !throttle.stop(extent); ++o) y[o] = row<T, Op>(x + o * extent, extent);
    return;
  }
  for (int64_t o = 0; o < outer && !throttle.stop(inner); ++o, x += extent * inner, y += inner) {
    int64_t j = 0;
    for (; j + 4 * kPerVec <= inner; j += 4 * kPerVec) {
      if (throttle.stop(extent * 4 * kPerVec)) return;
      columns<T, Op, V, UV, 4>(x + j, inner, extent, y + j);
    }
    for (; j + kPerVec <= inner; j += kPerVec) columns<T, Op, V, UV, 1>(x + j, inner, extent, y + j);
    for (; j < inner; ++j) columns<T, Op, T, typename Traits<T>::Unsigned, 1>(x + j, inner, extent, y + j);
  }
}

template <class T>
void mean(const T* x, T* y, int64_t outer, int64_t extent, int64_t inner) {
  run<T, Sum<T>>(x, y, outer, extent, inner);
  if constexpr (T(0.5) != T(0)) {
    for (int64_t i = 0; i < outer * inner; ++i) y[i] /= static_cast<T>(extent);
  } else {
    if (extent == 0) return;
    for (int64_t i = 0; i < outer * inner; ++i) y[i] = static_cast<T>(y[i] / extent);
  }
}

template <class T>
bool run_any(Reduce op, const void* from, void* to, int64_t outer, int64_t extent, int64_t inner) {
  const T* const x = static_cast<const T*>(from);
  T* const y = static_cast<T*>(to);
  switch (op) {
    case Reduce::sum: run<T, Sum<T>>(x, y, outer, extent, inner); return true;
    case Reduce::mean: mean(x, y, outer, extent, inner); return true;
    case Reduce::max: run<T, Max<T>>(x, y, outer, extent, inner); return true;
    case Reduce::min: run<T, Min<T>>(x, y, outer, extent, inner); return true;
    case Reduce::prod: run<T, Prod<T>>(x, y, outer, extent, inner); return true;
    case Reduce::sum_square: run<T, SumSquare<T>>(x, y, outer, extent, inner); return true;
    case Reduce::sum_abs: run<T, SumAbs<T>>(x, y, outer, extent, inner); return true;
  }
  return false;
}

template <class T>
bool run_order(Reduce op, const void* from, void* to, int64_t outer, int64_t extent, int64_t inner) {
  const T* const x = static_cast<const T*>(from);
  T* const y = static_cast<T*>(to);
  if (op == Reduce::max) run<T, Max<T>>(x, y, outer, extent, inner);
  if (op == Reduce::min) run<T, Min<T>>(x, y, outer, extent, inner);
  return op == Reduce::max || op == Reduce::min;
}

/// Returns the first or last position of the extreme value `best` in a row that contains it.
template <class T>
int64_t find(const T* x, int64_t n, T best, bool last) {
  constexpr int64_t kChunk = 64;
  const auto same = [best](T v) { return (v == best) | ((v != v) & (best != best)); };
  const int64_t chunks = (n + kChunk - 1) / kChunk;
  PollThrottle throttle;
  for (int64_t c = 0; c < chunks && !throttle.stop(kChunk); ++c) {
    const int64_t begin = (last ? chunks - 1 - c : c) * kChunk, end = begin + kChunk < n ? begin + kChunk : n;
    unsigned hit = 0;
    if (end - begin == kChunk) {
      for (int64_t i = 0; i < kChunk; ++i) hit |= same(x[begin + i]) ? 1u : 0u;
      if (hit == 0) continue;
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = last ? begin + end - 1 - i : i;
      if (same(x[at])) return at;
    }
  }
  return 0;
}

template <class T, bool kMax>
void arg_columns(const T* x, int64_t step, int64_t extent, int64_t cols, bool last, int64_t* y) {
  constexpr int64_t kCols = 64;
  T best[kCols];
  for (int64_t j = 0; j < cols; ++j) {
    best[j] = x[j];
    y[j] = 0;
  }
  for (int64_t r = 1; r < extent; ++r) {
    const T* const at = x + r * step;
    for (int64_t j = 0; j < cols; ++j) {
      const T v = at[j], b = best[j];
      const bool more = (kMax ? v > b : v < b) | ((v != v) & (b == b));
      const bool tie = (v == b) | ((v != v) & (b != b));
      const bool take = more | (tie & last);
      best[j] = take ? v : b;
      y[j] = take ? r : y[j];
    }
  }
}

template <class T, bool kMax>
void arg_run(bool last, const void* from, int64_t* y, int64_t outer, int64_t extent, int64_t inner) {
  const T* x = static_cast<const T*>(from);
  if (extent == 0) {
    for (int64_t i = 0; i < outer * inner; ++i) y[i] = 0;
    return;
  }
  PollThrottle throttle;
  for (int64_t o = 0; o < outer && !throttle.stop(extent * inner); ++o, x += extent * inner, y += inner) {
    if (inner == 1) {
      const T best = kMax ? row<T, Max<T>>(x, extent) : row<T, Min<T>>(x, extent);
      y[0] = find(x, extent, best, last);
      continue;
    }
    for (int64_t j = 0; j < inner && !throttle.stop(extent * 64); j += 64)
      arg_columns<T, kMax>(x + j, inner, extent, inner - j < 64 ? inner - j : 64, last, y + j);
  }
}

template <class T>
bool arg_any(Arg op, bool last, const void* x, int64_t* y, int64_t outer, int64_t extent, int64_t inner) {
  if (op == Arg::max) {
    arg_run<T, true>(last, x, y, outer, extent, inner);
  } else {
    arg_run<T, false>(last, x, y, outer, extent, inner);
  }
  return true;
}

}  // namespace

bool reduce_run(Reduce op, Elem elem, const void* x, void* y, int64_t outer, int64_t extent, int64_t inner) noexcept {
  switch (elem) {
    case Elem::f32: return run_any<float>(op, x, y, outer, extent, inner);
    case Elem::f64: return run_any<double>(op, x, y, outer, extent, inner);
    case Elem::i32: return run_any<std::int32_t>(op, x, y, outer, extent, inner);
    case Elem::i64: return run_any<std::int64_t>(op, x, y, outer, extent, inner);
    case Elem::i8: return run_order<std::int8_t>(op, x, y, outer, extent, inner);
    case Elem::u8: return run_order<std::uint8_t>(op, x, y, outer, extent, inner);
    default: return false;
  }
}

bool arg_reduce_run(Arg op, bool last, Elem elem, const void* x, int64_t* y, int64_t outer, int64_t extent,
                    int64_t inner) noexcept {
  switch (elem) {
    case Elem::f32: return arg_any<float>(op, last, x, y, outer, extent, inner);
    case Elem::f64: return arg_any<double>(op, last, x, y, outer, extent, inner);
    case Elem::i32: return arg_any<std::int32_t>(op, last, x, y, outer, extent, inner);
    case Elem::i64: return arg_any<std::int64_t>(op, last, x, y, outer, extent, inner);
    case Elem::i8: return arg_any<std::int8_t>(op, last, x, y, outer, extent, inner);
    case Elem::u8: return arg_any<std::uint8_t>(op, last, x, y, outer, extent, inner);
    default: return false;
  }
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
