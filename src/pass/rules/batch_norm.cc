#include <cmath>

#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/math.h"
#include "ops/nn/norm.h"
#include "pass/engine/rules.h"
#include "pass/rules/channels.h"

// Normalisation by constant statistics, which is a scale and an offset per channel.
namespace frazil::pass {
namespace {

bool has_constant_statistics(const Site& s) {
  const auto& attrs = s.attrs<ops::BatchNormAttrs>();
  const bool served = s.elem(0) == Elem::f32 || is_16_bit(s.elem(0));
  if (attrs.training_mode != 0 || !served || s.type(0).rank() < 2 || !s.constant(1)) return false;
  const auto channels = static_cast<std::size_t>(s.constant(1)->count());
  for (std::size_t i = 1; i < 5; ++i) {
    if (!is_list(s.constant(i), channels)) return false;
  }
  return channels > 0;
}

Affine affine_of(const Site& s) {
  const auto scale = floats(*s.constant(1)), shift = floats(*s.constant(2)), mean = floats(*s.constant(3)),
             variance = floats(*s.constant(4));
  const double epsilon = s.attrs<ops::BatchNormAttrs>().epsilon;
  Affine a;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double factor = scale[c] / std::sqrt(variance[c] + epsilon);
    a.factor.push_back(static_cast<float>(factor));
    a.offset.push_back(static_cast<float>(shift[c] - mean[c] * factor));
  }
  return a;
}

// ---- into the convolution before it ----

/// Returns the convolution that produces x, if this node is its only user and its weights are constant and small; else
/// null.
const Node* convolution(const Site& s) {
  const Node* conv = has_constant_statistics(s) ? s.maker(0, ops::Conv) : nullptr;
  if (!conv || conv->parent != s.block || !s.uses.only_user(s.node.in[0])) return nullptr;
  return absorbs_channels(s.graph, *conv, static_cast<std::size_t>(s.constant(1)->count())) ? conv : nullptr;
}

Expr convolve(const Site& s, const Node& conv, Builder& to) {
  return convolution_with(s.graph, conv, affine_of(s), to);
}

// ---- without a convolution ----

Expr per_channel(Builder& to, const std::vector<float>& values, std::size_t rank) {
  Sizes sizes{static_cast<std::int64_t>(values.size())};
  sizes.resize(rank - 1, 1);
  return to.constant(Tensor::of<float>(std::move(sizes), std::span<const float>(values)));
}

Expr scale_and_shift(const Site& s, Builder& to) {
  const Affine a = affine_of(s);
  const std::size_t rank = s.type(0).rank();
  const Expr x = ops::as_elem(Expr{&to, s.in[0]}, Elem::f32);
  const Expr y = ops::Add(ops::Mul(x, per_channel(to, a.factor, rank)), per_channel(to, a.offset, rank));
  return ops::as_elem(y, s.elem(0));
}

using N = Numerics;
constexpr Rule kBatchNormRules[] = {
    {"batch_norm_conv", kOps<ops::BatchNormalization>,
     "BatchNormalization(Conv(x, w, b)) with constants -> Conv(x, w', b'), where w has at most 512 KiB",
     N::reassociated, found<convolution, convolve>},
    {"batch_norm_affine", kOps<ops::BatchNormalization>,
     "BatchNormalization with constant statistics -> x * a + b per channel", N::reassociated,
     when<has_constant_statistics, scale_and_shift>},
};

}  // namespace

std::span<const Rule> batch_norm_rules() { return kBatchNormRules; }

}  // namespace frazil::pass
