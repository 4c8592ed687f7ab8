// The scalar primitives on a vector of lanes and on one element, as functions that generated code inlines. They are
// compiled to bitcode for each instruction set, from the sources of the tile kernels, so that bits are the same.
//
//   frazil_<op>_<elem>, frazil_<op>_<elem>_1: (result, a, b, c), pointers to kW elements or to one
//   frazil_cast_<from>_<to>, ..._1: (result, a)
//   frazil_quantise_<elem>_x<n>: (result, x, scale, zero point); result and x are n times kW f32. The result is whole
//     numbers within the limits of elem.
//   frazil_bytes_<elem>_x<n>: the same with a result of elem
//   frazil_widen_<elem>, frazil_narrow_<elem>: f32 from and to f16 and bf16

#include "kernel/simd/half_lanes.h"
#include "kernel/tile/quantise.h"
#include "kernel/tile/tile_table.h"

namespace frazil::kernel::FRAZIL_ISA_NS {
namespace {

using LanesFn = void (*)(void* r, const void* a, const void* b, const void* c);

template <class Op, class R, class T, int L>
FRAZIL_INLINE void lanes_one(void* r, const void* a, const void*, const void*) {
  T x[L];
  R y[L];
  __builtin_memcpy(x, a, sizeof x);
  for (int i = 0; i < L; ++i) y[i] = Op::run(x[i]);
  __builtin_memcpy(r, y, sizeof y);
}

template <class Op, class R, class T, int L>
FRAZIL_INLINE void lanes_two(void* r, const void* a, const void* b, const void*) {
  T x[L], y[L];
  R z[L];
  __builtin_memcpy(x, a, sizeof x);
  __builtin_memcpy(y, b, sizeof y);
  for (int i = 0; i < L; ++i) z[i] = Op::run(x[i], y[i]);
  __builtin_memcpy(r, z, sizeof z);
}

template <class V>
using ScalarOf = typename Lanes<V>::Scalar;

template <class V>
FRAZIL_INLINE V part(const void* from, int index) {
  return load<V>(static_cast<const std::byte*>(from) + index * static_cast<int>(sizeof(V)));
}

template <class Op, int L, class... Args>
FRAZIL_INLINE void vector_lanes(void* r, const Args*... from) {
  using V = typename Op::V;
  if constexpr (L == 1) {
    const V y = Op::run(splat<V>(*static_cast<const ScalarOf<V>*>(from))...);
    *static_cast<ScalarOf<V>*>(r) = y[0];
  } else {
    constexpr int kParts = L / static_cast<int>(kLanes<V>);
#pragma GCC unroll 8
    for (int k = 0; k < kParts; ++k) {
      store(static_cast<std::byte*>(r) + k * static_cast<int>(sizeof(V)), Op::run(part<V>(from, k)...));
    }
  }
}

template <class T, int L>
FRAZIL_INLINE void lanes_select(void* r, const void* c, const void* a, const void* b) {
  U8 which[L];
  T x[L], y[L], z[L];
  __builtin_memcpy(which, c, sizeof which);
  __builtin_memcpy(x, a, sizeof x);
  __builtin_memcpy(y, b, sizeof y);
  for (int i = 0; i < L; ++i) z[i] = which[i] != 0 ? x[i] : y[i];
  __builtin_memcpy(r, z, sizeof z);
}

template <int L>
struct LanesMaker {
  using Fn = LanesFn;
  template <class Op, class R, class T>
  constexpr Fn one() const {
    return lanes_one<Op, R, T, L>;
  }
  template <class Op, class R, class T>
  constexpr Fn two() const {
    return lanes_two<Op, R, T, L>;
  }
  template <class Op>
  constexpr Fn vector_one() const {
    return [](void* r, const void* a, const void*, const void*) { vector_lanes<Op, L>(r, a); };
  }
  template <class Op>
  constexpr Fn vector_two() const {
    return [](void* r, const void* a, const void* b, const void*) { vector_lanes<Op, L>(r, a, b); };
  }
  template <class T>
  constexpr Fn select() const {
    return lanes_select<T, L>;
  }
  constexpr Fn divide() const { return two<Div, float, float>(); }
};

template <ScalarOp kOp, Elem kElem, int L>
FRAZIL_INLINE void run(void* r, const void* a, const void* b, const void* c) {
  constexpr LanesFn kFn = scalar_op(kOp, kElem, LanesMaker<L>{});
  if constexpr (kFn != nullptr) {
    kFn(r, a, b, c);
  } else {
    __builtin_trap();  // never called: the primitive is not defined for the type
  }
}

template <Elem kTo, class To, class From, int L>
FRAZIL_INLINE void convert(void* r, const void* a) {
  From x[L];
  To y[L];
  __builtin_memcpy(x, a, sizeof x);
  for (int i = 0; i < L; ++i) {
    if constexpr (kTo == Elem::boolean) {
      y[i] = x[i] != 0;
    } else {
      y[i] = Cast::run<To>(x[i]);
    }
  }
  __builtin_memcpy(r, y, sizeof y);
}

#if defined(__AVX512F__)
/// Divides by one divisor. A corrected reciprocal is faster than division at this vector width.
FRAZIL_INLINE F32v quotient(F32v a, F32v b) {
  const F32v one = splat<F32v>(b[0]);
  const bool usual = b[0] != 0 && unusual_lanes(one) == 0 && unusual_lanes(a) == 0;
  return usual ? quotient_by(a, one, 1.0f / one) : a / b;
}
#endif

}  // namespace
}  // namespace frazil::kernel::FRAZIL_ISA_NS

using namespace frazil;
using namespace frazil::kernel::FRAZIL_ISA_NS;

// The same list twice, as a macro does not expand inside itself. X(elem, T, argument)
#define FRAZIL_ELEMS(X, ...)                                                                                \
  X(boolean, U8, __VA_ARGS__) X(i8, I8, __VA_ARGS__) X(i16, I16, __VA_ARGS__) X(i32, I32, __VA_ARGS__)      \
  X(i64, I64, __VA_ARGS__) X(u8, U8, __VA_ARGS__) X(u16, U16, __VA_ARGS__) X(u32, U32, __VA_ARGS__)         \
  X(u64, U64, __VA_ARGS__) X(f32, float, __VA_ARGS__) X(f64, double, __VA_ARGS__)
#define FRAZIL_SOURCES(X)                                                                                   \
  X(boolean, U8) X(i8, I8) X(i16, I16) X(i32, I32) X(i64, I64) X(u8, U8) X(u16, U16) X(u32, U32) X(u64, U64) \
  X(f32, float) X(f64, double)

extern "C" {

#define FRAZIL_OP(elem, T, op)                                                             \
  void frazil_##op##_##elem(void* r, const void* a, const void* b, const void* c) {        \
    run<ScalarOp::op, Elem::elem, kW>(r, a, b, c);                                         \
  }                                                                                        \
  void frazil_##op##_##elem##_1(void* r, const void* a, const void* b, const void* c) {    \
    run<ScalarOp::op, Elem::elem, 1>(r, a, b, c);                                          \
  }
#define FRAZIL_X(name, arity, result) FRAZIL_ELEMS(FRAZIL_OP, name)
FRAZIL_SCALAR_OPS(FRAZIL_X)
#undef FRAZIL_X

#define FRAZIL_CAST(to, To, from)                                                                                  \
  void frazil_cast_##from##_##to(void* r, const void* a) { convert<Elem::to, To, Source_##from, kW>(r, a); }        \
  void frazil_cast_##from##_##to##_1(void* r, const void* a) { convert<Elem::to, To, Source_##from, 1>(r, a); }
#define FRAZIL_X(from, From)  \
  using Source_##from = From; \
  FRAZIL_ELEMS(FRAZIL_CAST, from)
FRAZIL_SOURCES(FRAZIL_X)
#undef FRAZIL_X

#define FRAZIL_HALF(elem, Number)                                                                                     \
  void frazil_widen_##elem(void* r, const void* a) { store(r, Number::widened(load<U16h>(a))); }                      \
  void frazil_narrow_##elem(void* r, const void* a) { store(r, Number::narrowed(load<F32v>(a))); }                    \
  void frazil_widen_##elem##_1(void* r, const void* a) {                                                              \
    const float x = Number::widened(U16h{} + *static_cast<const U16*>(a))[0];                                         \
    __builtin_memcpy(r, &x, sizeof x);                                                                                \
  }                                                                                                                   \
  void frazil_narrow_##elem##_1(void* r, const void* a) {                                                             \
    const U16 x = Number::narrowed(splat<F32v>(*static_cast<const float*>(a)))[0];                                    \
    __builtin_memcpy(r, &x, sizeof x);                                                                                \
  }
FRAZIL_HALF(f16, F16)
FRAZIL_HALF(bf16, Bf16)

#define FRAZIL_QUANTISE(elem, is_signed, n)                                                                    \
  void frazil_quantise_##elem##_x##n(void* r, const void* x, const void* scale, const void* zero) {            \
    F32v lanes[n], whole[n];                                                                                   \
    __builtin_memcpy(lanes, x, sizeof lanes);                                                                  \
    Quantiser<is_signed>(load<F32v>(scale)[0], load<F32v>(zero)[0]).run(lanes, whole);                         \
    __builtin_memcpy(r, whole, sizeof whole);                                                                  \
  }                                                                                                            \
  void frazil_bytes_##elem##_x##n(void* r, const void* x, const void* scale, const void* zero) {               \
    F32v lanes[n];                                                                                             \
    __builtin_memcpy(lanes, x, sizeof lanes);                                                                  \
    Quantiser<is_signed>(load<F32v>(scale)[0], load<F32v>(zero)[0]).bytes(lanes, r);                           \
  }
FRAZIL_QUANTISE(u8, false, 1)
FRAZIL_QUANTISE(u8, false, 4)
FRAZIL_QUANTISE(i8, true, 1)
FRAZIL_QUANTISE(i8, true, 4)

#if defined(__AVX512F__)
void frazil_quotient_f32(void* r, const void* a, const void* b) { store(r, quotient(load<F32v>(a), load<F32v>(b))); }
#else
void frazil_quotient_f32(void* r, const void* a, const void* b) { store(r, load<F32v>(a) / load<F32v>(b)); }
#endif
}
