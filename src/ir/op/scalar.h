#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/value/elem.h"
#include "base/value/scalar_op.h"

namespace frazil {

/// One instruction of a scalar program. `a`, `b`, `c` are indices of earlier instructions.
struct ScalarIns {
  ScalarOp op = ScalarOp::constant;
  Elem type = Elem::f32;  ///< of the result
  std::uint32_t a = 0, b = 0, c = 0;
  std::uint32_t operand = 0;  ///< load: index of the body's operand
  double real = 0;            ///< constant of a float type
  std::int64_t integer = 0;   ///< constant of an integer or bool type
  auto operator<=>(const ScalarIns&) const = default;
};

/// A scalar program: the meaning of an elementwise body as straight-line SSA over scalars. Every consumer uses it:
/// reference, tile kernels, code generators, shape arithmetic. The last instruction is the result.
struct ScalarTape {
  std::vector<ScalarIns> code;
  bool operator==(const ScalarTape&) const = default;
};

class ScalarRecorder;

/// A scalar while a body is recorded. Not convertible to bool: bodies use select(), not if.
struct Sx {
  ScalarRecorder* rec = nullptr;
  std::uint32_t id = 0;
  explicit operator bool() const = delete;
  Elem type() const;
};

/// Records a body as a hash-consed DAG and linearises it canonically, in left-to-right post-order from the result. This
/// is needed because C++ leaves the evaluation order of operands open.
class ScalarRecorder {
 public:
  Sx load(std::uint32_t operand, Elem type);
  Sx constant(Elem type, double value);
  Sx constant_int(Elem type, std::int64_t value);
  Sx apply(ScalarOp op, Sx a);
  Sx apply(ScalarOp op, Sx a, Sx b);  ///< requires the same type
  Sx select(Sx condition, Sx a, Sx b);
  Sx cast(Sx a, Elem to);
  Elem type(std::uint32_t id) const { return dag_[id].type; }
  ScalarTape finish(Sx result) const;

 private:
  Sx intern(ScalarIns ins);
  std::vector<ScalarIns> dag_;
  std::map<ScalarIns, std::uint32_t> known_;
};

inline Elem Sx::type() const { return rec->type(id); }
/// Returns a constant of the type of `like`.
inline Sx lit(Sx like, double value) { return like.rec->constant(like.type(), value); }

#define FRAZIL_SX_BINARY(symbol, op)                                                     \
  inline Sx operator symbol(Sx a, Sx b) { return a.rec->apply(ScalarOp::op, a, b); }     \
  inline Sx operator symbol(Sx a, double b) { return a symbol lit(a, b); }               \
  inline Sx operator symbol(double a, Sx b) { return lit(b, a) symbol b; }
FRAZIL_SX_BINARY(+, add)
FRAZIL_SX_BINARY(-, sub)
FRAZIL_SX_BINARY(*, mul)
FRAZIL_SX_BINARY(/, div)
#undef FRAZIL_SX_BINARY

#define FRAZIL_SX_UNARY_FN(name) \
  inline Sx name(Sx a) { return a.rec->apply(ScalarOp::name, a); }
FRAZIL_SX_UNARY_FN(abs)
FRAZIL_SX_UNARY_FN(sign)
FRAZIL_SX_UNARY_FN(floor)
FRAZIL_SX_UNARY_FN(ceil)
FRAZIL_SX_UNARY_FN(round)
FRAZIL_SX_UNARY_FN(trunc)
FRAZIL_SX_UNARY_FN(sqrt)
FRAZIL_SX_UNARY_FN(exp)
FRAZIL_SX_UNARY_FN(log)
FRAZIL_SX_UNARY_FN(log1p)
FRAZIL_SX_UNARY_FN(expm1)
FRAZIL_SX_UNARY_FN(sin)
FRAZIL_SX_UNARY_FN(cos)
FRAZIL_SX_UNARY_FN(tan)
FRAZIL_SX_UNARY_FN(asin)
FRAZIL_SX_UNARY_FN(acos)
FRAZIL_SX_UNARY_FN(atan)
FRAZIL_SX_UNARY_FN(sinh)
FRAZIL_SX_UNARY_FN(cosh)
FRAZIL_SX_UNARY_FN(tanh)
FRAZIL_SX_UNARY_FN(asinh)
FRAZIL_SX_UNARY_FN(acosh)
FRAZIL_SX_UNARY_FN(atanh)
FRAZIL_SX_UNARY_FN(erf)
FRAZIL_SX_UNARY_FN(logistic)
FRAZIL_SX_UNARY_FN(lnot)
FRAZIL_SX_UNARY_FN(isnan)
FRAZIL_SX_UNARY_FN(isinf)
#undef FRAZIL_SX_UNARY_FN
inline Sx operator-(Sx a) { return a.rec->apply(ScalarOp::neg, a); }

#define FRAZIL_SX_BINARY_FN(name)                                                        \
  inline Sx name(Sx a, Sx b) { return a.rec->apply(ScalarOp::name, a, b); }              \
  inline Sx name(Sx a, double b) { return name(a, lit(a, b)); }                          \
  inline Sx name(double a, Sx b) { return name(lit(b, a), b); }
FRAZIL_SX_BINARY_FN(mod)
FRAZIL_SX_BINARY_FN(fmod)
FRAZIL_SX_BINARY_FN(pow)
FRAZIL_SX_BINARY_FN(min)
FRAZIL_SX_BINARY_FN(max)
FRAZIL_SX_BINARY_FN(land)
FRAZIL_SX_BINARY_FN(lor)
FRAZIL_SX_BINARY_FN(lxor)
FRAZIL_SX_BINARY_FN(shl)
FRAZIL_SX_BINARY_FN(shr)
FRAZIL_SX_BINARY_FN(lt)
FRAZIL_SX_BINARY_FN(le)
FRAZIL_SX_BINARY_FN(eq)
#undef FRAZIL_SX_BINARY_FN
inline Sx gt(Sx a, Sx b) { return lt(b, a); }
inline Sx gt(Sx a, double b) { return lt(lit(a, b), a); }
inline Sx ge(Sx a, Sx b) { return le(b, a); }
inline Sx ge(Sx a, double b) { return le(lit(a, b), a); }
inline Sx select(Sx condition, Sx a, Sx b) { return condition.rec->select(condition, a, b); }
inline Sx select(Sx condition, Sx a, double b) { return select(condition, a, lit(a, b)); }
inline Sx select(Sx condition, double a, Sx b) { return select(condition, lit(b, a), b); }
inline Sx cast(Sx a, Elem to) { return a.rec->cast(a, to); }

}  // namespace frazil
