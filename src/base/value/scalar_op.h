#pragma once

#include <cstdint>
#include <string_view>

namespace frazil {

/// The scalar primitives from which elementwise bodies are made. X(name, arity, result):
/// result `same` = type of the operands, `truth` = bool. Operands of one instruction share a type, except `select`
/// (bool, T, T). Every primitive is total:
///   integer add/sub/mul/neg/abs wrap; integer div truncates and gives 0 for x/0 (and wraps for min/-1);
///   mod follows the divisor's sign (Python), fmod the dividend's (C); x mod 0 = 0 for integers;
///   shifts by >= width give 0; min/max of floats give NaN when either operand is NaN;
///   round is half-to-even; sign(NaN) = NaN, sign(-0.0) = 0; pow of integers wraps, x^negative = 0 except for 1 and -1;
///   land/lor/lxor/lnot are bitwise on integers and logical on bool.
#define FRAZIL_SCALAR_OPS(X)                                                                                     \
  X(neg, 1, same) X(abs, 1, same) X(sign, 1, same) X(floor, 1, same) X(ceil, 1, same) X(round, 1, same)          \
  X(trunc, 1, same) X(sqrt, 1, same) X(exp, 1, same) X(log, 1, same) X(log1p, 1, same) X(expm1, 1, same)         \
  X(sin, 1, same) X(cos, 1, same) X(tan, 1, same) X(asin, 1, same) X(acos, 1, same) X(atan, 1, same)             \
  X(sinh, 1, same) X(cosh, 1, same) X(tanh, 1, same) X(asinh, 1, same) X(acosh, 1, same) X(atanh, 1, same)       \
  X(erf, 1, same) X(logistic, 1, same) X(lnot, 1, same) X(isnan, 1, truth) X(isinf, 1, truth)                    \
  X(add, 2, same) X(sub, 2, same) X(mul, 2, same) X(div, 2, same) X(mod, 2, same) X(fmod, 2, same)               \
  X(pow, 2, same) X(min, 2, same) X(max, 2, same) X(land, 2, same) X(lor, 2, same) X(lxor, 2, same)              \
  X(shl, 2, same) X(shr, 2, same) X(lt, 2, truth) X(le, 2, truth) X(eq, 2, truth)                                \
  X(select, 3, same)

enum class ScalarOp : std::uint8_t {
#define FRAZIL_X(name, arity, result) name,
  FRAZIL_SCALAR_OPS(FRAZIL_X)
#undef FRAZIL_X
      cast,  ///< arity 1; the result type is the instruction's
  constant,  ///< arity 0
  load,      ///< arity 0; operand k of the body
};

constexpr int arity(ScalarOp op) {
  switch (op) {
#define FRAZIL_X(name, n, result) \
  case ScalarOp::name: return n;
    FRAZIL_SCALAR_OPS(FRAZIL_X)
#undef FRAZIL_X
    case ScalarOp::cast: return 1;
    default: return 0;
  }
}

constexpr bool returns_bool(ScalarOp op) {
  return op == ScalarOp::lt || op == ScalarOp::le || op == ScalarOp::eq || op == ScalarOp::isnan ||
         op == ScalarOp::isinf;
}

constexpr std::string_view name_of(ScalarOp op) {
  switch (op) {
#define FRAZIL_X(name, n, result) \
  case ScalarOp::name: return #name;
    FRAZIL_SCALAR_OPS(FRAZIL_X)
#undef FRAZIL_X
    case ScalarOp::cast: return "cast";
    case ScalarOp::constant: return "constant";
    case ScalarOp::load: return "load";
  }
  return "?";
}

}  // namespace frazil
