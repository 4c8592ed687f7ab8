#pragma once

#include "ops/elementwise/math.h"

// Activation functions.
namespace frazil::ops {

FRAZIL_OP(Relu, elementwise<1>({"Relu", {14, 6}, "max(X, 0)."}, unary<elems::kFloat | elems::kSigned>,
                               [](Sx x) { return max(x, 0.0); }));
FRAZIL_OP(Sigmoid, elementwise<1>({"Sigmoid", {13, 6}, "1 / (1 + e^-X)."}, unary<elems::kFloat>,
                                  [](Sx x) { return logistic(x); }));
FRAZIL_OP(Softsign, elementwise<1>({"Softsign", {22, 1}, "X / (1 + |X|)."}, unary<elems::kFloat>,
                                   [](Sx x) { return x / (1.0 + abs(x)); }));

/// Computes log(1 + e^x) without overflow.
inline Sx softplus(Sx x) { return max(x, 0.0) + log1p(exp(-abs(x))); }
FRAZIL_OP(Softplus, elementwise<1>({"Softplus", {22, 1}, "log(1 + e^X)."}, unary<elems::kFloat>,
                                   [](Sx x) { return softplus(x); }));
FRAZIL_OP(Mish, elementwise<1>({"Mish", {22, 18}, "X * tanh(softplus(X))."}, unary<elems::kFloat>,
                               [](Sx x) { return x * tanh(softplus(x)); }));
FRAZIL_OP(HardSwish, elementwise<1>({"HardSwish", {22, 14}, "X * clip(X / 6 + 1/2, 0, 1)."}, unary<elems::kFloat>,
                                    [](Sx x) { return x * max(min(x / 6.0 + 0.5, 1.0), 0.0); }));

struct LeakyReluAttrs {
  float alpha = 0.01f;
  static constexpr std::array fields{attr<&LeakyReluAttrs::alpha>("alpha", "slope below 0")};
};
/// Computes the maximum of both lines for alpha in (0, 1]. An alpha of 0 would give NaN for infinity.
inline Sx leaky_relu(Sx x, double alpha) {
  if (alpha > 0 && alpha <= 1) return max(x, alpha * x);
  return select(lt(x, 0.0), alpha * x, x);
}
FRAZIL_OP(LeakyRelu, elementwise<1, LeakyReluAttrs>({"LeakyRelu", {16, 6}, "X, multiplied by alpha where negative."},
                                                    unary<elems::kFloat>, [](Sx x, const LeakyReluAttrs& a) {
                                                      return leaky_relu(x, a.alpha);
                                                    }));

struct EluAttrs {
  float alpha = 1;
  static constexpr std::array fields{attr<&EluAttrs::alpha>("alpha", "the limit far below 0 is -alpha")};
};
FRAZIL_OP(Elu, elementwise<1, EluAttrs>({"Elu", {22, 6}, "X, and alpha * (e^X - 1) below 0."}, unary<elems::kFloat>,
                                        [](Sx x, const EluAttrs& a) {
                                          return select(lt(x, 0.0), double{a.alpha} * expm1(x), x);
                                        }));

struct SeluAttrs {
  float alpha = 1.67326319217681884765625f;
  float gamma = 1.05070102214813232421875f;
  static constexpr std::array fields{attr<&SeluAttrs::alpha>("alpha", "scale of the part below 0"),
                                     attr<&SeluAttrs::gamma>("gamma", "scale of the whole")};
};
FRAZIL_OP(Selu, elementwise<1, SeluAttrs>({"Selu", {22, 6}, "gamma times Elu."}, unary<elems::kFloat>,
                                          [](Sx x, const SeluAttrs& a) {
                                            return double{a.gamma} * select(gt(x, 0.0), x, double{a.alpha} * expm1(x));
                                          }));

struct CeluAttrs {
  float alpha = 1;
  static constexpr std::array fields{attr<&CeluAttrs::alpha>("alpha", "the limit far below 0 is -alpha")};
};
FRAZIL_OP(Celu, elementwise<1, CeluAttrs>({"Celu", 12, "X, and alpha * (e^(X / alpha) - 1) below 0."},
                                          unary<elems::kFloat>, [](Sx x, const CeluAttrs& a) {
                                            const double alpha = a.alpha;
                                            return max(x, 0.0) + min(alpha * expm1(x / alpha), 0.0);
                                          }));

struct ThresholdedReluAttrs {
  float alpha = 1;
  static constexpr std::array fields{attr<&ThresholdedReluAttrs::alpha>("alpha", "the threshold")};
};
FRAZIL_OP(ThresholdedRelu,
          elementwise<1, ThresholdedReluAttrs>({"ThresholdedRelu", {22, 10}, "X where it is above alpha, else 0."},
                                               unary<elems::kFloat>, [](Sx x, const ThresholdedReluAttrs& a) {
                                                 return select(gt(x, a.alpha), x, 0.0);
                                               }));

struct HardSigmoidAttrs {
  float alpha = 0.2f;
  float beta = 0.5f;
  static constexpr std::array fields{attr<&HardSigmoidAttrs::alpha>("alpha", "slope"),
                                     attr<&HardSigmoidAttrs::beta>("beta", "value at 0")};
};
FRAZIL_OP(HardSigmoid, elementwise<1, HardSigmoidAttrs>({"HardSigmoid", {22, 6}, "clip(alpha * X + beta, 0, 1)."},
                                                        unary<elems::kFloat>, [](Sx x, const HardSigmoidAttrs& a) {
                                                          return max(min(double{a.alpha} * x + double{a.beta}, 1.0),
                                                                     0.0);
                                                        }));

struct SwishAttrs {
  float alpha = 1;
  static constexpr std::array fields{attr<&SwishAttrs::alpha>("alpha", "scale inside the sigmoid")};
};
FRAZIL_OP(Swish,
          elementwise<1, SwishAttrs>({"Swish", 24, "X * sigmoid(alpha * X)."}, unary<elems::kFloat>,
                                     [](Sx x, const SwishAttrs& a) { return x * logistic(double{a.alpha} * x); }));

inline constexpr std::array<Port, 2> kSwigluIn{{{"a", "T", elems::kFloat}, {"b", "T", elems::kFloat}}};
FRAZIL_OP(SwiGLU, composite<SwishAttrs>({"SwiGLU", 28, "Swish(a) * b."}, {kSwigluIn, kPortY<elems::kFloat>},
                                        [](CompositeCx& cx) {
                                          const Expr gate = Swish({cx.in(0)}, cx.attrs<SwishAttrs>());
                                          cx.out(0, Mul(gate, cx.in(1)));
                                        }));

struct GeluAttrs {
  std::string approximate = "none";
  static constexpr std::array fields{attr<&GeluAttrs::approximate>("approximate", "none, or tanh for the tanh form")};
};
inline Sx gelu_body(Sx x, const GeluAttrs& a) {
  if (a.approximate == "tanh") {
    return x * logistic(1.5957691216057308 * (x + 0.044715 * (x * x * x)));  // (1 + tanh u) / 2 = logistic(2 u)
  }
  return 0.5 * x * (1.0 + erf(0.7071067811865476 * x));
}
inline Status gelu_check(const void* attrs) {
  const std::string& form = static_cast<const GeluAttrs*>(attrs)->approximate;
  if (form == "none" || form == "tanh") return {};
  return fail(Code::bad_model, "approximate '{}' is not one of none, tanh", form);
}
FRAZIL_OP(Gelu, elementwise<1, GeluAttrs>(
                    {"Gelu", 20, "X weighted by the normal distribution function at X."}, unary<elems::kFloat>,
                    [](Sx x, const GeluAttrs& a) { return gelu_body(x, a); }, nullptr, gelu_check));

inline constexpr ElemSet kPReluElems = elems::kFloat | elems::kIndex | one(Elem::u32) | one(Elem::u64);
inline constexpr std::array<Port, 2> kPReluIn{{{"X", "T", kPReluElems}, {"slope", "T", kPReluElems}}};
FRAZIL_OP(PRelu,
          elementwise<2>({"PRelu", {16, 7}, "X, multiplied by slope where negative."}, {kPReluIn, kPortY<kPReluElems>},
                         [](Sx x, Sx slope) { return select(lt(x, 0.0), slope * x, x); }));

struct ShrinkAttrs {
  float bias = 0;
  float lambd = 0.5f;
  static constexpr std::array fields{attr<&ShrinkAttrs::bias>("bias", "shift towards 0 of values outside"),
                                     attr<&ShrinkAttrs::lambd>("lambd", "half width of the interval that becomes 0")};
};
inline Sx shrink_body(Sx x, const ShrinkAttrs& a) {
  if (!is_float(x.type())) return cast(shrink_body(cast(x, Elem::f64), a), x.type());
  const double bias = a.bias, lambda = a.lambd;
  return select(lt(x, lit(x, -lambda)), x + bias, select(gt(x, lambda), x - bias, 0.0));
}
FRAZIL_OP(Shrink, elementwise<1, ShrinkAttrs>({"Shrink", 9, "0 within lambd of 0, moved by bias towards 0 outside."},
                                              unary<elems::kNumeric>,
                                              [](Sx x, const ShrinkAttrs& a) { return shrink_body(x, a); }));

}  // namespace frazil::ops
