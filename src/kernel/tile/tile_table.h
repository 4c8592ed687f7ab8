#pragma once

// Maps each scalar primitive and element type to a function object of tile_ops.h. Private to translation units that are
// compiled for one instruction set and define FRAZIL_ISA_NS.
//
// A Make turns function objects into functions of its type Fn. one<Op, R, T>() and two<Op, R, T>() are for a `run` that
// takes scalars T and returns R. vector_one<Op>() and vector_two<Op>() are for a `run` that takes vectors. select<T>()
// and divide() (f32) have no function object. The result is nullptr if the primitive is not defined for the type.

#include "base/value/elem.h"
#include "base/value/scalar_op.h"
#include "kernel/tile/tile_ops.h"

namespace frazil::kernel::FRAZIL_ISA_NS {

template <class Make>
constexpr auto bool_op(ScalarOp op, Make m) -> typename Make::Fn {
  switch (op) {
    case ScalarOp::lnot: return m.template one<BoolNot, U8, U8>();
    case ScalarOp::land:
    case ScalarOp::min: return m.template two<And, U8, U8>();
    case ScalarOp::lor:
    case ScalarOp::max: return m.template two<Or, U8, U8>();
    case ScalarOp::lxor: return m.template two<Xor, U8, U8>();
    case ScalarOp::eq: return m.template two<Equal, U8, U8>();
    case ScalarOp::select: return m.template select<U8>();
    default: return nullptr;
  }
}

template <class T, class Make>
constexpr auto int_op(ScalarOp op, Make m) -> typename Make::Fn {
  using U = Unsigned<T>;  // one function serves both if the sign makes no difference
  switch (op) {
    case ScalarOp::neg: return m.template one<Neg, U, U>();
    case ScalarOp::abs: return m.template one<Abs, T, T>();
    case ScalarOp::sign: return m.template one<Sign, T, T>();
    case ScalarOp::lnot: return m.template one<Not, U, U>();
    case ScalarOp::add: return m.template two<Add, U, U>();
    case ScalarOp::sub: return m.template two<Sub, U, U>();
    case ScalarOp::mul: return m.template two<Mul, U, U>();
    case ScalarOp::div: return m.template two<Div, T, T>();
    case ScalarOp::mod: return m.template two<Mod, T, T>();
    case ScalarOp::fmod: return m.template two<Fmod, T, T>();
    case ScalarOp::pow: return m.template two<IntPow, T, T>();
    case ScalarOp::min: return m.template two<Min, T, T>();
    case ScalarOp::max: return m.template two<Max, T, T>();
    case ScalarOp::land: return m.template two<And, U, U>();
    case ScalarOp::lor: return m.template two<Or, U, U>();
    case ScalarOp::lxor: return m.template two<Xor, U, U>();
    case ScalarOp::shl: return m.template two<Shl, U, U>();
    case ScalarOp::shr: return m.template two<Shr, T, T>();
    case ScalarOp::lt: return m.template two<Less, U8, T>();
    case ScalarOp::le: return m.template two<LessEqual, U8, T>();
    case ScalarOp::eq: return m.template two<Equal, U8, U>();
    case ScalarOp::select: return m.template select<U>();
    default: return nullptr;
  }
}

/// Functions common to f32 and f64.
template <class T, class Make>
constexpr auto float_op(ScalarOp op, Make m) -> typename Make::Fn {
  switch (op) {
    case ScalarOp::neg: return m.template one<Neg, T, T>();
    case ScalarOp::abs: return m.template one<Abs, T, T>();
    case ScalarOp::sign: return m.template one<Sign, T, T>();
    case ScalarOp::isnan: return m.template one<IsNan, U8, T>();
    case ScalarOp::isinf: return m.template one<IsInf, U8, T>();
    case ScalarOp::tan: return m.template one<LibTan, T, T>();
    case ScalarOp::asin: return m.template one<LibAsin, T, T>();
    case ScalarOp::acos: return m.template one<LibAcos, T, T>();
    case ScalarOp::atan: return m.template one<LibAtan, T, T>();
    case ScalarOp::sinh: return m.template one<LibSinh, T, T>();
    case ScalarOp::cosh: return m.template one<LibCosh, T, T>();
    case ScalarOp::asinh: return m.template one<LibAsinh, T, T>();
    case ScalarOp::acosh: return m.template one<LibAcosh, T, T>();
    case ScalarOp::atanh: return m.template one<LibAtanh, T, T>();
    case ScalarOp::add: return m.template two<Add, T, T>();
    case ScalarOp::sub: return m.template two<Sub, T, T>();
    case ScalarOp::mul: return m.template two<Mul, T, T>();
    case ScalarOp::div: return m.template two<Div, T, T>();
    case ScalarOp::mod: return m.template two<Mod, T, T>();
    case ScalarOp::fmod: return m.template two<Fmod, T, T>();
    case ScalarOp::min: return m.template two<Min, T, T>();
    case ScalarOp::max: return m.template two<Max, T, T>();
    case ScalarOp::lt: return m.template two<Less, U8, T>();
    case ScalarOp::le: return m.template two<LessEqual, U8, T>();
    case ScalarOp::eq: return m.template two<Equal, U8, T>();
    case ScalarOp::select: return m.template select<Unsigned<T>>();
    default: return nullptr;
  }
}

template <class Make>
constexpr auto f32_op(ScalarOp op, Make m) -> typename Make::Fn {
  switch (op) {
    case ScalarOp::floor: return m.template vector_one<VecFloor>();
    case ScalarOp::ceil: return m.template vector_one<VecCeil>();
    case ScalarOp::round: return m.template vector_one<VecRound>();
    case ScalarOp::trunc: return m.template vector_one<VecTrunc>();
    case ScalarOp::sqrt: return m.template vector_one<VecSqrt>();
    case ScalarOp::exp: return m.template vector_one<VecExp>();
    case ScalarOp::log: return m.template vector_one<VecLog>();
    case ScalarOp::log1p: return m.template vector_one<VecLog1p>();
    case ScalarOp::expm1: return m.template vector_one<VecExpm1>();
    case ScalarOp::sin: return m.template vector_one<VecSin>();
    case ScalarOp::cos: return m.template vector_one<VecCos>();
    case ScalarOp::tanh: return m.template vector_one<VecTanh>();
    case ScalarOp::erf: return m.template vector_one<VecErf>();
    case ScalarOp::logistic: return m.template vector_one<VecLogistic>();
    case ScalarOp::pow: return m.template vector_two<VecPow>();
    case ScalarOp::div: return m.divide();
    default: return float_op<float>(op, m);
  }
}

template <class Make>
constexpr auto f64_op(ScalarOp op, Make m) -> typename Make::Fn {
  switch (op) {
    case ScalarOp::floor: return m.template vector_one<VecFloor64>();
    case ScalarOp::ceil: return m.template vector_one<VecCeil64>();
    case ScalarOp::round: return m.template vector_one<VecRound64>();
    case ScalarOp::trunc: return m.template vector_one<VecTrunc64>();
    case ScalarOp::sqrt: return m.template vector_one<VecSqrt64>();
    case ScalarOp::exp: return m.template one<LibExp, double, double>();
    case ScalarOp::log: return m.template one<LibLog, double, double>();
    case ScalarOp::log1p: return m.template one<LibLog1p, double, double>();
    case ScalarOp::expm1: return m.template one<LibExpm1, double, double>();
    case ScalarOp::sin: return m.template one<LibSin, double, double>();
    case ScalarOp::cos: return m.template one<LibCos, double, double>();
    case ScalarOp::tanh: return m.template one<LibTanh, double, double>();
    case ScalarOp::erf: return m.template one<LibErf, double, double>();
    case ScalarOp::logistic: return m.template one<LibLogistic, double, double>();
    case ScalarOp::pow: return m.template two<LibPow, double, double>();
    default: return float_op<double>(op, m);
  }
}

/// Returns the function for a type that has arithmetic: bool, i8 to i64, u8 to u64, f32, f64.
template <class Make>
constexpr auto scalar_op(ScalarOp op, Elem elem, Make m) -> typename Make::Fn {
  switch (elem) {
    case Elem::boolean: return bool_op(op, m);
    case Elem::i8: return int_op<I8>(op, m);
    case Elem::i16: return int_op<I16>(op, m);
    case Elem::i32: return int_op<I32>(op, m);
    case Elem::i64: return int_op<I64>(op, m);
    case Elem::u8: return int_op<U8>(op, m);
    case Elem::u16: return int_op<U16>(op, m);
    case Elem::u32: return int_op<U32>(op, m);
    case Elem::u64: return int_op<U64>(op, m);
    case Elem::f32: return f32_op(op, m);
    case Elem::f64: return f64_op(op, m);
    default: return nullptr;
  }
}

}  // namespace frazil::kernel::FRAZIL_ISA_NS
