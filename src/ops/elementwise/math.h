#pragma once

#include "ir/op/define.h"

// Elementwise arithmetic.
namespace frazil::ops {

// ---- two operands ----
FRAZIL_OP(Add, elementwise<2>({"Add", {14, 7}, "A + B; integers wrap."}, binary<elems::kNumeric>,
                              [](Sx a, Sx b) { return a + b; }));
FRAZIL_OP(Sub, elementwise<2>({"Sub", {14, 7}, "A - B; integers wrap."}, binary<elems::kNumeric>,
                              [](Sx a, Sx b) { return a - b; }));
FRAZIL_OP(Mul, elementwise<2>({"Mul", {14, 7}, "A * B; integers wrap."}, binary<elems::kNumeric>,
                              [](Sx a, Sx b) { return a * b; }));
FRAZIL_OP(Div, elementwise<2>({"Div", {14, 7}, "A / B; integers drop the fraction and x / 0 is 0."},
                              binary<elems::kNumeric>, [](Sx a, Sx b) { return a / b; }));

struct ModAttrs {
  std::int64_t fmod = 0;
  static constexpr std::array fields{attr<&ModAttrs::fmod>("fmod", "1: the sign follows A, as in C; 0: it follows B")};
};
FRAZIL_OP(Mod, elementwise<2, ModAttrs>({"Mod", {13, 10}, "The remainder of A / B."}, binary<elems::kNumeric>,
                                        [](Sx a, Sx b, const ModAttrs& m) { return m.fmod ? fmod(a, b) : mod(a, b); }));

Sx pow_body(Sx base, Sx exponent);
inline constexpr std::array<Port, 2> kPowIn{{{"X", "T", elems::kFloat | elems::kIndex}, {"Y", "T1", elems::kNumeric}}};
FRAZIL_OP(Pow,
          elementwise<2>({"Pow", {15, 7}, "X to the power Y, in X's type."},
                         {kPowIn, kPortY<elems::kFloat | elems::kIndex>}, [](Sx x, Sx y) { return pow_body(x, y); }));

struct BitShiftAttrs {
  std::string direction;
  static constexpr std::array fields{required<&BitShiftAttrs::direction>("direction", "LEFT or RIGHT")};
};
Status bit_shift_check(const void* attrs);
FRAZIL_OP(BitShift,
          elementwise<2, BitShiftAttrs>(
              {"BitShift", 11, "X shifted by Y bits; bits shifted out are lost."}, binary<elems::kUnsigned>,
              [](Sx a, Sx b, const BitShiftAttrs& s) { return s.direction == "LEFT" ? shl(a, b) : shr(a, b); }, nullptr,
              bit_shift_check));
FRAZIL_OP(BitwiseAnd, elementwise<2>({"BitwiseAnd", 18, "The bits set in A and in B."}, binary<elems::kInt>,
                                     [](Sx a, Sx b) { return land(a, b); }));
FRAZIL_OP(BitwiseOr, elementwise<2>({"BitwiseOr", 18, "The bits set in A or in B."}, binary<elems::kInt>,
                                    [](Sx a, Sx b) { return lor(a, b); }));
FRAZIL_OP(BitwiseXor, elementwise<2>({"BitwiseXor", 18, "The bits in which A and B differ."}, binary<elems::kInt>,
                                     [](Sx a, Sx b) { return lxor(a, b); }));
FRAZIL_OP(BitwiseNot,
          elementwise<1>({"BitwiseNot", 18, "Every bit inverted."}, unary<elems::kInt>, [](Sx x) { return lnot(x); }));

// ---- one operand ----
FRAZIL_OP(Neg, elementwise<1>({"Neg", {13, 6}, "-X."}, unary<elems::kSigned | elems::kFloat>, [](Sx x) { return -x; }));
FRAZIL_OP(Abs,
          elementwise<1>({"Abs", {13, 6}, "The magnitude of X."}, unary<elems::kNumeric>, [](Sx x) { return abs(x); }));
FRAZIL_OP(Sign, elementwise<1>({"Sign", {13, 9}, "-1, 0 or 1."}, unary<elems::kNumeric>, [](Sx x) { return sign(x); }));
FRAZIL_OP(Floor, elementwise<1>({"Floor", {13, 6}, "The largest integer not above X."}, unary<elems::kFloat>,
                                [](Sx x) { return floor(x); }));
FRAZIL_OP(Ceil, elementwise<1>({"Ceil", {13, 6}, "The smallest integer not below X."}, unary<elems::kFloat>,
                               [](Sx x) { return ceil(x); }));
FRAZIL_OP(Round, elementwise<1>({"Round", {22, 11}, "The nearest integer; halves round to even."}, unary<elems::kFloat>,
                                [](Sx x) { return round(x); }));
FRAZIL_OP(Sqrt, elementwise<1>({"Sqrt", {13, 6}, "The square root; NaN below 0."}, unary<elems::kFloat>,
                               [](Sx x) { return sqrt(x); }));
FRAZIL_OP(Reciprocal,
          elementwise<1>({"Reciprocal", {13, 6}, "1 / X."}, unary<elems::kFloat>, [](Sx x) { return 1.0 / x; }));
FRAZIL_OP(Exp,
          elementwise<1>({"Exp", {13, 6}, "e to the power X."}, unary<elems::kFloat>, [](Sx x) { return exp(x); }));
FRAZIL_OP(Log, elementwise<1>({"Log", {13, 6}, "The natural logarithm."}, unary<elems::kFloat>,
                              [](Sx x) { return log(x); }));
FRAZIL_OP(Sin, elementwise<1>({"Sin", {22, 7}, "The sine of X in radians."}, unary<elems::kFloat>,
                              [](Sx x) { return sin(x); }));
FRAZIL_OP(Cos, elementwise<1>({"Cos", {22, 7}, "The cosine of X in radians."}, unary<elems::kFloat>,
                              [](Sx x) { return cos(x); }));
FRAZIL_OP(Tan, elementwise<1>({"Tan", {22, 7}, "The tangent of X in radians."}, unary<elems::kFloat>,
                              [](Sx x) { return tan(x); }));
FRAZIL_OP(Asin, elementwise<1>({"Asin", {22, 7}, "The angle whose sine is X."}, unary<elems::kFloat>,
                               [](Sx x) { return asin(x); }));
FRAZIL_OP(Acos, elementwise<1>({"Acos", {22, 7}, "The angle whose cosine is X."}, unary<elems::kFloat>,
                               [](Sx x) { return acos(x); }));
FRAZIL_OP(Atan, elementwise<1>({"Atan", {22, 7}, "The angle whose tangent is X."}, unary<elems::kFloat>,
                               [](Sx x) { return atan(x); }));
FRAZIL_OP(Sinh, elementwise<1>({"Sinh", {22, 9}, "The hyperbolic sine."}, unary<elems::kFloat>,
                               [](Sx x) { return sinh(x); }));
FRAZIL_OP(Cosh, elementwise<1>({"Cosh", {22, 9}, "The hyperbolic cosine."}, unary<elems::kFloat>,
                               [](Sx x) { return cosh(x); }));
FRAZIL_OP(Tanh, elementwise<1>({"Tanh", {13, 6}, "The hyperbolic tangent."}, unary<elems::kFloat>,
                               [](Sx x) { return tanh(x); }));
FRAZIL_OP(Asinh, elementwise<1>({"Asinh", {22, 9}, "The inverse of the hyperbolic sine."}, unary<elems::kFloat>,
                                [](Sx x) { return asinh(x); }));
FRAZIL_OP(Acosh, elementwise<1>({"Acosh", {22, 9}, "The inverse of the hyperbolic cosine."}, unary<elems::kFloat>,
                                [](Sx x) { return acosh(x); }));
FRAZIL_OP(Atanh, elementwise<1>({"Atanh", {22, 9}, "The inverse of the hyperbolic tangent."}, unary<elems::kFloat>,
                                [](Sx x) { return atanh(x); }));
FRAZIL_OP(Erf, elementwise<1>({"Erf", {13, 9}, "The Gauss error function."}, unary<elems::kNumeric>, [](Sx x) {
            return is_float(x.type()) ? erf(x) : cast(erf(cast(x, Elem::f32)), x.type());
          }));

// ---- tests of floats ----
inline constexpr ElemSet kFloat8 =
    one(Elem::f8e4m3fn) | one(Elem::f8e4m3fnuz) | one(Elem::f8e5m2) | one(Elem::f8e5m2fnuz);
FRAZIL_OP(IsNaN, elementwise<1>({"IsNaN", {20, 9}, "True where X is not a number."},
                                {kPortX < elems::kFloat | kFloat8 >, kPortBool}, [](Sx x) { return isnan(x); }));

struct IsInfAttrs {
  std::int64_t detect_negative = 1;
  std::int64_t detect_positive = 1;
  static constexpr std::array fields{attr<&IsInfAttrs::detect_negative>("detect_negative", "whether -inf counts"),
                                     attr<&IsInfAttrs::detect_positive>("detect_positive", "whether +inf counts")};
};
Sx is_inf_body(Sx x, const IsInfAttrs& a);
FRAZIL_OP(IsInf, elementwise<1, IsInfAttrs>({"IsInf", {20, 10}, "True where X is infinite."},
                                            {kPortX < elems::kFloat | kFloat8 >, kPortBool},
                                            [](Sx x, const IsInfAttrs& a) { return is_inf_body(x, a); }));

// ---- any number of operands ----
FRAZIL_OP(Min2, elementwise<2>({"Min2", 1, "The smaller of two; NaN when either is.", "frazil"},
                               binary<elems::kNumeric>, [](Sx a, Sx b) { return min(a, b); }));
FRAZIL_OP(Max2, elementwise<2>({"Max2", 1, "The larger of two; NaN when either is.", "frazil"}, binary<elems::kNumeric>,
                               [](Sx a, Sx b) { return max(a, b); }));

template <ElemSet S>
inline constexpr std::array<Port, 1> kVariadicX{{{"data_0", "T", S, Port::Use::variadic}}};
template <ElemSet S>
inline constexpr Ports variadic{kVariadicX<S>, kPortY<S>};

void min_body(CompositeCx& cx);
void max_body(CompositeCx& cx);
void sum_body(CompositeCx& cx);
void mean_body(CompositeCx& cx);
FRAZIL_OP(Min, composite({"Min", {13, 8}, "The smallest of all inputs, with broadcasting."}, variadic<elems::kNumeric>,
                         min_body));
FRAZIL_OP(Max, composite({"Max", {13, 8}, "The largest of all inputs, with broadcasting."}, variadic<elems::kNumeric>,
                         max_body));
FRAZIL_OP(Sum,
          composite({"Sum", {13, 8}, "The sum of all inputs, with broadcasting."}, variadic<elems::kFloat>, sum_body));
FRAZIL_OP(Mean, composite({"Mean", {13, 8}, "The mean of all inputs, with broadcasting."}, variadic<elems::kFloat>,
                          mean_body));

inline constexpr std::array<Port, 3> kClipIn{{{"input", "T", elems::kNumeric},
                                              {"min", "T", elems::kNumeric, Port::Use::optional},
                                              {"max", "T", elems::kNumeric, Port::Use::optional}}};
void clip_body(CompositeCx& cx);
FRAZIL_OP(Clip, composite({"Clip", {13, 11}, "X clamped to [min, max]; max if min > max."},
                          {kClipIn, kPortY<elems::kNumeric>}, clip_body));

}  // namespace frazil::ops
