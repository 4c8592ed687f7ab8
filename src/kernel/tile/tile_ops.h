#pragma once

// The scalar primitives as function objects. `run` takes scalars, or vectors if there is a type V. They are total, as
// specified in base/value/scalar_op.h.

#include "kernel/simd/math.h"

namespace frazil::kernel::FRAZIL_ISA_NS {

using I8 = std::int8_t;
using I16 = std::int16_t;
using I32 = std::int32_t;
using I64 = std::int64_t;
using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

/// Unsigned has the same size. Wide is unsigned too, and arithmetic on it does not promote to (signed) int.
template <std::size_t kSize>
struct IntOf;
template <>
struct IntOf<1> {
  using Unsigned = U8;
  using Wide = U32;
};
template <>
struct IntOf<2> {
  using Unsigned = U16;
  using Wide = U32;
};
template <>
struct IntOf<4> {
  using Unsigned = U32;
  using Wide = U32;
};
template <>
struct IntOf<8> {
  using Unsigned = U64;
  using Wide = U64;
};
template <class T>
using Unsigned = typename IntOf<sizeof(T)>::Unsigned;
template <class T>
using Wide = typename IntOf<sizeof(T)>::Wide;

template <class T>
inline constexpr bool kIsFloat = false;
template <>
inline constexpr bool kIsFloat<float> = true;
template <>
inline constexpr bool kIsFloat<double> = true;
template <class T>
inline constexpr bool kIsSigned = T(-1) < T(0);

template <class T>
inline constexpr T kLowest = kIsSigned<T> ? T(T(1) << (8 * sizeof(T) - 1)) : T(0);
template <class T>
inline constexpr T kHighest = T(~kLowest<T>);

// An arithmetic operator that wraps on integers.
#define FRAZIL_ARITHMETIC(Name, op)         \
  struct Name {                             \
    template <class T>                      \
    FRAZIL_INLINE static T run(T a, T b) {  \
      if constexpr (kIsFloat<T>) {          \
        return a op b;                      \
      } else {                              \
        return T(Wide<T>(a) op Wide<T>(b)); \
      }                                     \
    }                                       \
  };
FRAZIL_ARITHMETIC(Add, +)
FRAZIL_ARITHMETIC(Sub, -)
FRAZIL_ARITHMETIC(Mul, *)
#undef FRAZIL_ARITHMETIC

#define FRAZIL_BITWISE(Name, op)           \
  struct Name {                            \
    template <class T>                     \
    FRAZIL_INLINE static T run(T a, T b) { \
      return T(a op b);                    \
    }                                      \
  };
FRAZIL_BITWISE(And, &)
FRAZIL_BITWISE(Or, |)
FRAZIL_BITWISE(Xor, ^)
#undef FRAZIL_BITWISE

#define FRAZIL_COMPARE(Name, op)            \
  struct Name {                             \
    template <class T>                      \
    FRAZIL_INLINE static U8 run(T a, T b) { \
      return a op b;                        \
    }                                       \
  };
FRAZIL_COMPARE(Less, <)
FRAZIL_COMPARE(LessEqual, <=)
FRAZIL_COMPARE(Equal, ==)
#undef FRAZIL_COMPARE

struct Min {
  template <class T>
  FRAZIL_INLINE static T run(T a, T b) {
    T r = a < b ? a : b;  // b if either is NaN
    return a == a ? r : a;
  }
};
struct Max {
  template <class T>
  FRAZIL_INLINE static T run(T a, T b) {
    T r = a > b ? a : b;
    return a == a ? r : a;
  }
};

struct Div {
  template <class T>
  FRAZIL_INLINE static T run(T a, T b) {
    if constexpr (kIsFloat<T>) {
      return a / b;
    } else {
      if (b == 0) return 0;
      if constexpr (kIsSigned<T>) {
        if (b == T(-1)) return T(-Wide<T>(a));
      }
      return T(a / b);
    }
  }
};

FRAZIL_INLINE float library_fmod(float a, float b) { return __builtin_fmodf(a, b); }
FRAZIL_INLINE double library_fmod(double a, double b) { return __builtin_fmod(a, b); }
FRAZIL_INLINE float copy_sign(float a, float b) { return __builtin_copysignf(a, b); }
FRAZIL_INLINE double copy_sign(double a, double b) { return __builtin_copysign(a, b); }

struct Fmod {
  template <class T>
  FRAZIL_INLINE static T run(T a, T b) {
    if constexpr (kIsFloat<T>) {
      return library_fmod(a, b);
    } else {
      if (b == 0) return 0;
      if constexpr (kIsSigned<T>) {
        if (b == T(-1)) return 0;
      }
      return T(a % b);
    }
  }
};
struct Mod {
  template <class T>
  FRAZIL_INLINE static T run(T a, T b) {
    T r = Fmod::run(a, b);
    if constexpr (kIsFloat<T>) {
      if (r == 0) return copy_sign(T(0), b);
      return (r < 0) != (b < 0) ? r + b : r;
    } else {
      return r != 0 && (r < 0) != (b < 0) ? T(r + b) : r;
    }
  }
};

struct IntPow {
  template <class T>
  FRAZIL_INLINE static T run(T base, T power) {
    if (power < 0) {
      if (base == T(-1)) return (power & 1) != 0 ? base : T(1);
      return base == 1;
    }
    Wide<T> r = 1, square = Wide<T>(base);
    for (auto left = Unsigned<T>(power); left != 0; left = Unsigned<T>(left >> 1)) {
      if ((left & 1) != 0) r *= square;
      square *= square;
    }
    return T(r);
  }
};

struct Shl {
  template <class T>
  FRAZIL_INLINE static T run(T a, T b) {
    constexpr Unsigned<T> kBits = 8 * sizeof(T);
    T r = T(Wide<T>(a) << (b & (kBits - 1)));
    return Unsigned<T>(b) < kBits ? r : T(0);
  }
};
struct Shr {
  template <class T>
  FRAZIL_INLINE static T run(T a, T b) {
    constexpr Unsigned<T> kBits = 8 * sizeof(T);
    T r = T(a >> (b & (kBits - 1)));
    return Unsigned<T>(b) < kBits ? r : T(0);
  }
};

struct Neg {
  template <class T>
  FRAZIL_INLINE static T run(T a) {
    if constexpr (kIsFloat<T>) {
      return -a;
    } else {
      return T(-Wide<T>(a));
    }
  }
};
struct Abs {
  FRAZIL_INLINE static float run(float a) { return __builtin_fabsf(a); }
  FRAZIL_INLINE static double run(double a) { return __builtin_fabs(a); }
  template <class T>
  FRAZIL_INLINE static T run(T a) {
    if constexpr (kIsSigned<T>) {
      return a < 0 ? T(-Wide<T>(a)) : a;
    } else {
      return a;
    }
  }
};
struct Sign {
  template <class T>
  FRAZIL_INLINE static T run(T a) {
    if constexpr (kIsFloat<T>) {
      T r = (a > 0 ? T(1) : T(0)) - (a < 0 ? T(1) : T(0));
      return a == a ? r : a;
    } else {
      return T((a > 0) - (a < 0));
    }
  }
};
struct Not {
  template <class T>
  FRAZIL_INLINE static T run(T a) {
    return T(~a);
  }
};
struct BoolNot {
  FRAZIL_INLINE static U8 run(U8 a) { return a == 0; }
};
struct IsNan {
  template <class T>
  FRAZIL_INLINE static U8 run(T a) {
    return a != a;
  }
};
struct IsInf {
  template <class T>
  FRAZIL_INLINE static U8 run(T a) {
    return Abs::run(a) == T(__builtin_inf());
  }
};

// Functions of the C library, called per element.
#define FRAZIL_LIBC(Name, name)                                             \
  struct Name {                                                                \
    FRAZIL_INLINE static float run(float a) { return __builtin_##name##f(a); } \
    FRAZIL_INLINE static double run(double a) { return __builtin_##name(a); }  \
  };
FRAZIL_LIBC(LibExp, exp)
FRAZIL_LIBC(LibExpm1, expm1)
FRAZIL_LIBC(LibLog, log)
FRAZIL_LIBC(LibLog1p, log1p)
FRAZIL_LIBC(LibSin, sin)
FRAZIL_LIBC(LibCos, cos)
FRAZIL_LIBC(LibTan, tan)
FRAZIL_LIBC(LibAsin, asin)
FRAZIL_LIBC(LibAcos, acos)
FRAZIL_LIBC(LibAtan, atan)
FRAZIL_LIBC(LibSinh, sinh)
FRAZIL_LIBC(LibCosh, cosh)
FRAZIL_LIBC(LibTanh, tanh)
FRAZIL_LIBC(LibAsinh, asinh)
FRAZIL_LIBC(LibAcosh, acosh)
FRAZIL_LIBC(LibAtanh, atanh)
FRAZIL_LIBC(LibErf, erf)
#undef FRAZIL_LIBC
struct LibLogistic {
  FRAZIL_INLINE static double run(double a) {
    double e = __builtin_exp(-__builtin_fabs(a)), r = 1 / (1 + e);
    return a < 0 ? e * r : r;
  }
};
struct LibPow {
  FRAZIL_INLINE static double run(double a, double b) { return __builtin_pow(a, b); }
};

// Functions of math.h. Chains is the number of interleaved vectors that is fastest with 32 registers.
#define FRAZIL_VECTOR(Name, name, Vector, Chains)                      \
  struct Name {                                                        \
    using V = Vector;                                                  \
    static constexpr std::size_t kChains = Chains;                     \
    FRAZIL_INLINE static V run(V a) { return FRAZIL_ISA_NS::name(a); } \
  };
FRAZIL_VECTOR(VecSqrt, sqrt, F32v, 4)
FRAZIL_VECTOR(VecFloor, floor, F32v, 4)
FRAZIL_VECTOR(VecCeil, ceil, F32v, 4)
FRAZIL_VECTOR(VecRound, round, F32v, 4)
FRAZIL_VECTOR(VecTrunc, trunc, F32v, 4)
FRAZIL_VECTOR(VecSqrt64, sqrt, F64v, 4)
FRAZIL_VECTOR(VecFloor64, floor, F64v, 4)
FRAZIL_VECTOR(VecCeil64, ceil, F64v, 4)
FRAZIL_VECTOR(VecRound64, round, F64v, 4)
FRAZIL_VECTOR(VecTrunc64, trunc, F64v, 4)
FRAZIL_VECTOR(VecExp, exp, F32v, 8)
FRAZIL_VECTOR(VecExpm1, expm1, F32v, 4)
FRAZIL_VECTOR(VecLog, log, F32v, 4)
FRAZIL_VECTOR(VecLog1p, log1p, F32v, 4)
FRAZIL_VECTOR(VecTanh, tanh, F32v, 4)
FRAZIL_VECTOR(VecLogistic, logistic, F32v, 4)
FRAZIL_VECTOR(VecErf, erf, F32v, 4)
FRAZIL_VECTOR(VecSin, sin, F32h, 4)
FRAZIL_VECTOR(VecCos, cos, F32h, 4)
#undef FRAZIL_VECTOR
struct VecPow {
  using V = F32h;
  FRAZIL_INLINE static V run(V a, V b) { return FRAZIL_ISA_NS::pow(a, b); }
};

/// A cast, total as specified in tile.h.
struct Cast {
  template <class To, class From>
  FRAZIL_INLINE static To run(From x) {
    if constexpr (!kIsFloat<From> || kIsFloat<To>) {
      return To(x);
    } else if constexpr (sizeof(To) < 4) {
      From y = x == x ? x : From(0);
      y = y < From(kLowest<To>) ? From(kLowest<To>) : y;
      y = y > From(kHighest<To>) ? From(kHighest<To>) : y;
      return To(I32(y));
    } else if constexpr (sizeof(To) < sizeof(From)) {
      From y = x == x ? x : From(0);
      y = y < From(kLowest<To>) ? From(kLowest<To>) : y;
      y = y > From(kHighest<To>) ? From(kHighest<To>) : y;
      return To(y);
    } else {
      constexpr From kBound = From(kHighest<To> / 2 + 1) * 2;  // 2^k, as kHighest itself is not representable in From
      From y = x >= From(kLowest<To>) ? x : From(0);
      y = y < kBound ? y : From(0);
      To r = To(y);
      r = x < From(kLowest<To>) ? kLowest<To> : r;
      return x >= kBound ? kHighest<To> : r;
    }
  }
};

}  // namespace frazil::kernel::FRAZIL_ISA_NS
