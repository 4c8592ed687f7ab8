#include "ops/microsoft/product.h"

#include "ops/contraction/channels_last.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "ops/view/view.h"

namespace frazil::ops::microsoft {
namespace {

struct Turns {
  bool matrix, batch;
};

/// Returns x with its first axis moved after the batch axes, and its matrices transposed.
Expr turned(Expr x, Turns t) {
  const auto rank = static_cast<std::int64_t>(x.type().rank());
  if (rank < 2 || (!t.matrix && !t.batch)) return x;
  Ints perm;
  for (std::int64_t i = 0; i < rank; ++i) perm.push_back(i);
  if (t.batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (t.matrix) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return Transpose({x}, {.perm = std::move(perm)});
}

void scaled_product(CompositeCx& cx, float alpha, Turns a, Turns b) {
  const Elem elem = cx.elem(0), wide = alpha == 1 ? elem : compute_elem(elem);
  const Expr y = MatMul(turned(as_elem(cx.in(0), wide), a), turned(as_elem(cx.in(1), wide), b));
  cx.out(0, alpha == 1 ? y : as_elem(Mul(y, cx.number(wide, alpha)), elem));
}

struct Activation {
  std::string_view name;
  std::optional<float> alpha, beta, gamma;
};

std::optional<Expr> one_parameter(const Activation& f, Expr x) {
  if (f.name == "LeakyRelu") return LeakyRelu({x}, {.alpha = f.alpha.value_or(0.01f)});
  if (f.name == "Elu") return Elu({x}, {.alpha = f.alpha.value_or(1)});
  if (f.name == "ThresholdedRelu") return ThresholdedRelu({x}, {.alpha = f.alpha.value_or(1)});
  return std::nullopt;
}

std::optional<Expr> activated(CompositeCx& cx, const Activation& f, Expr x) {
  if (f.name.empty()) return x;
  if (f.name == "Relu") return Relu(x);
  if (f.name == "Tanh") return Tanh(x);
  if (f.name == "Sigmoid") return Sigmoid(x);
  if (f.name == "Softplus") return Softplus(x);
  if (f.name == "Softsign") return Softsign(x);
  if (f.name == "HardSigmoid") {
    return HardSigmoid({x}, {.alpha = f.alpha.value_or(0.2f), .beta = f.beta.value_or(0.5f)});
  }
  if (f.name == "Selu") {
    SeluAttrs selu;
    selu.alpha = f.alpha.value_or(selu.alpha);
    selu.gamma = f.gamma.value_or(selu.gamma);
    return Selu({x}, selu);
  }
  if (const auto y = one_parameter(f, x)) return y;
  cx.unsupported("activation '{}' is not supported", f.name);
  return std::nullopt;
}

std::optional<float> parameter(const Floats& list, std::size_t i) {
  return i < list.size() ? std::optional(list[i]) : std::nullopt;
}

}  // namespace

void fused_matmul_body(CompositeCx& cx) {
  const auto& a = cx.attrs<FusedMatMulAttrs>();
  scaled_product(cx, a.alpha, {a.transA != 0, a.transBatchA != 0}, {a.transB != 0, a.transBatchB != 0});
}

void transpose_matmul_body(CompositeCx& cx) {
  const auto& a = cx.attrs<TransposeMatMulAttrs>();
  scaled_product(cx, a.alpha, {a.transA != 0, false}, {a.transB != 0, false});
}

namespace {

/// Applies the activation of a convolution to y, which has compute type.
void activated_out(CompositeCx& cx, Expr y) {
  const auto& a = cx.attrs<FusedConvAttrs>();
  const Floats& list = a.activation_params;
  if (!cx.builder().status()) return;
  const Elem wide = y.type().elem;
  if (a.activation == "Clip") {
    if (list.size() != 2) return cx.error("Clip needs 2 activation_params, got {}", list.size());
    return cx.out(0, as_elem(Clip(y, cx.number(wide, list[0]), cx.number(wide, list[1])), cx.elem(0)));
  }
  const auto z = activated(cx, {a.activation, parameter(list, 0), parameter(list, 1), parameter(list, 2)}, y);
  if (z) cx.out(0, as_elem(*z, cx.elem(0)));
}

std::vector<Expr> wide_conv_inputs(CompositeCx& cx) {
  std::vector<Expr> in{widened(cx.in(0)), widened(cx.in(1))};
  if (cx.has(2)) in.push_back(widened(cx.in(2)));
  return in;
}

Expr plus_z(CompositeCx& cx, Expr y) {
  return cx.has(3) ? Add(y, widened(Fit({cx.in(3), ShapeOf({y})}, {.name = "Z"}))) : y;
}

}  // namespace

void fused_conv_body(CompositeCx& cx) {
  const Expr y = Conv(wide_conv_inputs(cx), static_cast<const ConvAttrs&>(cx.attrs<FusedConvAttrs>()));
  activated_out(cx, plus_z(cx, y));
}

void nhwc_fused_conv_body(CompositeCx& cx) {
  const Expr y = ConvChannelsLast(wide_conv_inputs(cx), static_cast<const ConvAttrs&>(cx.attrs<FusedConvAttrs>()));
  activated_out(cx, plus_z(cx, y));
}

void nhwc_conv_body(CompositeCx& cx) {
  std::vector<Expr> in{cx.in(0), channels_to(cx.in(1), true)};
  if (cx.has(2)) in.push_back(cx.in(2));
  cx.out(0, ConvChannelsLast(in, cx.attrs<ConvAttrs>()));
}

void fused_gemm_body(CompositeCx& cx) {
  const auto& a = cx.attrs<FusedGemmAttrs>();
  std::vector<Expr> in{widened(cx.in(0)), widened(cx.in(1))};
  if (cx.has(2)) in.push_back(widened(cx.in(2)));
  const Expr y = Gemm(in, static_cast<const GemmAttrs&>(a));
  if (!cx.builder().status()) return;
  const auto z = activated(cx, {a.activation, a.activation_alpha, a.activation_beta, a.activation_gamma}, y);
  if (z) cx.out(0, as_elem(*z, cx.elem(0)));
}

}  // namespace frazil::ops::microsoft
