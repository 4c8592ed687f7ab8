#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/contraction/contraction.h"
#include "ops/elementwise/math.h"
#include "pass/engine/rules.h"
#include "pass/rules/channels.h"

// Constant scales and offsets of channels: absorbed into the convolution before them, or joined with each other.
namespace frazil::pass {
namespace {

/// The operand of a binary node that has one element per channel (axis 1), or null. `other` is the other operand's
/// index.
struct Channels {
  const Tensor* values = nullptr;
  std::size_t other = 0;
};

bool is_per_channel(const Tensor* t, std::size_t rank) {
  if (t == nullptr || t->elem() != Elem::f32 || !t->contiguous() || rank < 2) return false;
  const Sizes& sizes = t->sizes();
  if (sizes.size() + 1 < rank || sizes.size() > rank) return false;
  const std::size_t axis = sizes.size() + 1 - rank;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (d != axis && sizes[d] != 1) return false;
  }
  return sizes[axis] > 1;
}

Channels channels_of(const Graph& graph, std::span<const Value> in, std::size_t rank) {
  for (std::size_t i = 0; i < 2; ++i) {
    const Constant* c = graph.constant(in[i]);
    if (c != nullptr && is_per_channel(&c->tensor, rank)) return {&c->tensor, 1 - i};
  }
  return {};
}

/// A node with two f32 operands: its channels, and the node that makes its other operand.
struct Pair {
  Channels own;
  const Node* inner = nullptr;
};

/// Returns the node's channels, and the node that makes its other operand, if nothing else uses that operand.
std::optional<Pair> pair_of(const Site& s, const OpDef& inner) {
  const Type& type = s.from.type(s.node.out[0]);
  if (!type.is_tensor() || !type.ranked || type.elem != Elem::f32) return std::nullopt;
  const Channels own = channels_of(s.graph, s.in, type.rank());
  if (own.values == nullptr || s.type(own.other).rank() != type.rank()) return std::nullopt;
  const Node* made = s.maker(own.other, inner);
  if (made == nullptr || made->parent != s.block || !s.uses.only_user(s.node.in[own.other])) return std::nullopt;
  return Pair{own, made};
}

/// Joins two constants of one shape by f. Returns nullopt if a number of the result is not finite.
template <class F>
std::optional<Tensor> joined(const Tensor& a, const Tensor& b, F f) {
  Tensor out = Tensor::make_or_throw(Elem::f32, a.sizes());
  const auto x = floats(a), y = floats(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    out.as_mutable<float>()[i] = f(x[i], y[i]);
    if (!std::isfinite(out.as<float>()[i])) return std::nullopt;
  }
  return out;
}
constexpr auto kTimes = [](float a, float b) { return a * b; };
constexpr auto kPlus = [](float a, float b) { return a + b; };

// ---- after a convolution ----

std::optional<Pair> behind_convolution(const Site& s) {
  const auto pair = pair_of(s, ops::Conv);
  const bool fits =
      pair && absorbs_channels(s.graph, *pair->inner, static_cast<std::size_t>(pair->own.values->count()));
  return fits ? pair : std::nullopt;
}

Expr scale_convolution(const Site& s, const Pair& pair, Builder& to) {
  const auto factor = floats(*pair.own.values);
  return convolution_with(s.graph, *pair.inner, {factor, std::vector<float>(factor.size())}, to);
}
Expr shift_convolution(const Site& s, const Pair& pair, Builder& to) {
  const auto offset = floats(*pair.own.values);
  return convolution_with(s.graph, *pair.inner, {std::vector<float>(offset.size(), 1), offset}, to);
}

// ---- after each other ----

/// Returns the channels of a node that feeds the outer one, if they have the shape of the outer one's.
Channels same_channels(const Site& s, const Pair& pair, const Node& inner) {
  const std::size_t rank = s.type(pair.own.other).rank();
  const Channels own = channels_of(s.graph, inner.in, rank);
  const bool same = own.values != nullptr && own.values->sizes() == pair.own.values->sizes() &&
                    s.graph.type(inner.in[own.other]).rank() == rank;
  return same ? own : Channels{};
}

/// A node that reads another one, `pair.inner`, and the channels of the inner one.
struct Nested {
  Pair pair;
  Channels inner;
};
template <const auto& Inner>
std::optional<Nested> behind(const Site& s) {
  const auto pair = pair_of(s, Inner);
  const Channels inner = pair ? same_channels(s, *pair, *pair->inner) : Channels{};
  return inner.values != nullptr ? std::optional(Nested{*pair, inner}) : std::nullopt;
}

/// Writes x * (a * c) for (x * a) * c, or x + (b + c) for (x + b) + c.
template <const auto& Op, const auto& F>
Expr join(const Site&, const Nested& nested, Builder& to) {
  const auto& [pair, inner] = nested;
  auto both = joined(*inner.values, *pair.own.values, F);
  if (!both) return {};
  return Op(Expr{&to, pair.inner->in[inner.other]}, to.constant(std::move(*both)));
}

/// Writes x * c, or y * (a * c) if x is y * a.
Expr scaled_by(const Site& s, const Pair& pair, Value x, Builder& to) {
  const Node* scale = s.maker(x, ops::Mul);
  const Channels inner = scale != nullptr ? same_channels(s, pair, *scale) : Channels{};
  if (inner.values != nullptr) {
    if (auto both = joined(*inner.values, *pair.own.values, kTimes))
      return ops::Mul(Expr{&to, scale->in[inner.other]}, to.constant(std::move(*both)));
  }
  return ops::Mul(Expr{&to, x}, to.constant(*pair.own.values));
}

/// Writes x * c + b * c for (x + b) * c.
Expr distribute(const Site& s, const Nested& nested, Builder& to) {
  const auto& [pair, inner] = nested;
  auto offset = joined(*inner.values, *pair.own.values, kTimes);
  if (!offset) return {};
  const Expr scaled = scaled_by(s, pair, pair.inner->in[inner.other], to);  // reads constants before one is added
  return ops::Add(scaled, to.constant(std::move(*offset)));
}

using N = Numerics;
constexpr Rule kScaleRules[] = {
    {"conv_scale", kOps<ops::Mul>, "Conv(x, w, b) * c, constant per channel -> Conv(x, w * c, b * c), w as above",
     N::reassociated, found<behind_convolution, scale_convolution>},
    {"conv_shift", kOps<ops::Add>, "Conv(x, w, b) + c, constant per channel -> Conv(x, w, b + c), w as above",
     N::reassociated, found<behind_convolution, shift_convolution>},
    {"scale_scale", kOps<ops::Mul>, "(x * a) * c, constant per channel -> x * (a * c)", N::reassociated,
     found<behind<ops::Mul>, join<ops::Mul, kTimes>>},
    {"shift_shift", kOps<ops::Add>, "(x + b) + c, constant per channel -> x + (b + c)", N::reassociated,
     found<behind<ops::Add>, join<ops::Add, kPlus>>},
    {"scale_shift", kOps<ops::Mul>, "(x + b) * c, constant per channel -> x * c + b * c", N::reassociated,
     found<behind<ops::Add>, distribute>},
};

}  // namespace

std::span<const Rule> scale_rules() { return kScaleRules; }

}  // namespace frazil::pass
