#include "ops/nn/norm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ir/op/axis.h"
#include "ops/contraction/contraction.h"
#include "ops/elementwise/math.h"
#include "pass/engine/rules.h"

// Recovers normalisations for which there is a kernel, in three steps: the normalised value, then its scale, then its
// shift. Each order of operands is thus one pattern.
namespace frazil::pass {
namespace {

/// The operand that `op` produces in the current block, and the other operand.
struct Sides {
  const Node* made = nullptr;
  Value other;
  std::size_t at = 0;
};

Sides either(const Site& s, std::span<const Value> in, const OpDef& op) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (const Node* made = s.maker_here(in[i], op)) return {made, in[1 - i], i};
  }
  return {};
}

std::optional<double> number(const Graph& graph, Value v) {
  const Constant* c = graph.constant(v);
  if (!c || c->tensor.count() != 1 || !is_float(c->tensor.elem())) return std::nullopt;
  return c->tensor.number_at(0);
}

/// Returns the first axis of a mean over the last axes that keeps them with extent 1; nullopt for other means.
std::optional<std::size_t> first_axis(const Graph& graph, const Node& mean) {
  const Constant* axes = mean.in.size() > 1 && mean.in[1] ? graph.constant(mean.in[1]) : nullptr;
  if (!axes || axes->tensor.count() == 0 || mean.attributes<ops::ReduceAttrs>().keepdims == 0) return std::nullopt;
  const std::size_t rank = graph.type(mean.in[0]).rank();
  std::vector<std::size_t> all;
  for (std::int64_t i = 0; i < axes->tensor.count(); ++i) all.push_back(from_front(axes->tensor.integer_at(i), rank));
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != rank - (all.size() - i)) return std::nullopt;
  }
  return all[0];
}

/// The pattern x - mean(x).
struct Centred {
  Value x;
  std::size_t axis = 0;
};
std::optional<Centred> centred(const Site& s, Value v) {
  const Node* sub = s.maker_here(v, ops::Sub);
  const Node* mean = sub ? s.maker_here(sub->in[1], ops::ReduceMean) : nullptr;
  if (!mean || mean->in[0] != sub->in[0]) return std::nullopt;
  const auto axis = first_axis(s.graph, *mean);
  return axis ? std::optional(Centred{sub->in[0], *axis}) : std::nullopt;
}

/// Returns the value that is squared, in x * x or pow(x, 2).
Value squared(const Site& s, Value v) {
  if (const Node* mul = s.maker_here(v, ops::Mul)) return mul->in[0] == mul->in[1] ? mul->in[0] : Value{};
  const Node* pow = s.maker_here(v, ops::Pow);
  return pow && number(s.graph, pow->in[1]) == 2.0 ? pow->in[0] : Value{};
}

/// The standard deviation: sqrt(mean(d * d) + epsilon), with d centred.
struct Deviation {
  Centred of;
  double epsilon = 0;
};
std::optional<Deviation> variance(const Site& s, Value v) {
  const Node* add = s.maker_here(v, ops::Add);
  if (!add) return std::nullopt;
  const Sides sides = either(s, add->in, ops::ReduceMean);
  const auto epsilon = sides.made ? number(s.graph, sides.other) : std::nullopt;
  const Value d = epsilon ? squared(s, sides.made->in[0]) : Value{};
  const auto of = d ? centred(s, d) : std::nullopt;
  if (!of || first_axis(s.graph, *sides.made) != of->axis) return std::nullopt;
  return Deviation{*of, *epsilon};
}
std::optional<Deviation> deviation(const Site& s, Value v) {
  if (const Node* root = s.maker_here(v, ops::Sqrt)) return variance(s, root->in[0]);
  const Node* pow = s.maker_here(v, ops::Pow);
  return pow && number(s.graph, pow->in[1]) == 0.5 ? variance(s, pow->in[0]) : std::nullopt;
}
/// Matches the reciprocal of a standard deviation.
std::optional<Deviation> inverse_deviation(const Site& s, Value v) {
  if (const Node* inverse = s.maker_here(v, ops::Reciprocal)) return deviation(s, inverse->in[0]);
  if (const Node* div = s.maker_here(v, ops::Div); div && number(s.graph, div->in[0]) == 1.0) {
    return deviation(s, div->in[1]);
  }
  const Node* pow = s.maker_here(v, ops::Pow);
  return pow && number(s.graph, pow->in[1]) == -0.5 ? variance(s, pow->in[0]) : std::nullopt;
}

bool is_served(const Graph& graph, const Centred& c, double epsilon) {
  const Type& type = graph.type(c.x);
  const auto rest = std::span(type.shape).subspan(c.axis);
  return type.elem == Elem::f32 && epsilon >= 0 &&
         std::ranges::all_of(rest, [](Dim d) { return d.is_const() && d.value() > 0 && d.value() < (1 << 20); });
}

/// Matches a quotient or product that normalises a value.
std::optional<Deviation> normalised(const Site& s) {
  const auto fits = [&](Value d, const std::optional<Deviation>& by) {
    const auto of = by ? centred(s, d) : std::nullopt;
    return of && of->x == by->of.x && of->axis == by->of.axis && is_served(s.graph, *of, by->epsilon);
  };
  if (s.node.op == &ops::Div) {
    const auto by = deviation(s, s.in[1]);
    return fits(s.in[0], by) ? by : std::nullopt;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const auto by = inverse_deviation(s, s.in[1 - i]);
    if (fits(s.in[i], by)) return by;
  }
  return std::nullopt;
}
Expr normalise(const Site& s, const Deviation& d, Builder& to) {
  Sizes sizes;
  const Shape& shape = s.graph.type(d.of.x).shape;
  for (std::size_t i = d.of.axis; i < shape.size(); ++i) sizes.push_back(shape[i].value());
  Tensor ones = Tensor::make_or_throw(Elem::f32, std::move(sizes));
  std::ranges::fill(ones.as_mutable<float>(), 1.0f);
  const auto axis = static_cast<std::int64_t>(d.of.axis) - static_cast<std::int64_t>(shape.size());
  return ops::LayerNormalization({Expr{&to, d.of.x}, to.constant(std::move(ones))},
                                 {.axis = axis, .epsilon = static_cast<float>(d.epsilon)});
}

/// Returns true if v has the extents over which the norm is taken.
bool has_norm_extents(const Graph& graph, const Node& norm, Value v) {
  const Shape &x = graph.type(norm.in[0]).shape, &own = graph.type(v).shape;
  const std::size_t first = from_front(norm.attributes<ops::LayerNormAttrs>().axis, x.size());
  return graph.type(v).elem == Elem::f32 && std::ranges::equal(own, std::span(x).subspan(first));
}

bool is_one(const Graph& graph, Value v) {
  const Constant* c = graph.constant(v);
  if (!c || c->tensor.elem() != Elem::f32 || !c->tensor.contiguous()) return false;
  return std::ranges::all_of(c->tensor.as<float>(), [](float x) { return x == 1; });
}

/// Matches a norm without a shift whose only user is this node, and an operand with the norm's extents.
std::optional<Sides> beside_norm(const Site& s) {
  const Sides sides = either(s, s.in, ops::LayerNormalization);
  if (!sides.made || sides.made->out.size() != 1 || sides.made->in.size() != 2) return std::nullopt;
  const bool alone = s.uses.only_user(s.node.in[sides.at]).has_value();
  return alone && has_norm_extents(s.graph, *sides.made, sides.other) ? std::optional(sides) : std::nullopt;
}

std::optional<Sides> beside_plain_norm(const Site& s) {
  const auto sides = beside_norm(s);
  return sides && is_one(s.graph, sides->made->in[1]) ? sides : std::nullopt;
}
Expr scale_norm(const Site&, const Sides& sides, Builder& to) {
  return ops::LayerNormalization({Expr{&to, sides.made->in[0]}, Expr{&to, sides.other}},
                                 sides.made->attributes<ops::LayerNormAttrs>());
}
Expr shift_norm(const Site&, const Sides& sides, Builder& to) {
  return ops::LayerNormalization({Expr{&to, sides.made->in[0]}, Expr{&to, sides.made->in[1]}, Expr{&to, sides.other}},
                                 sides.made->attributes<ops::LayerNormAttrs>());
}

using N = Numerics;
constexpr Rule kNormRules[] = {
    {"layer_norm", kOps<ops::Div, ops::Mul>,
     "d / sqrt(mean(d * d) + epsilon), where d = x - mean(x) over the last axes -> LayerNormalization", N::reassociated,
     found<normalised, normalise>},
    {"layer_norm_scale", kOps<ops::Mul>, "LayerNormalization(x) * scale -> LayerNormalization(x, scale)", N::exact,
     found<beside_plain_norm, scale_norm>},
    {"layer_norm_shift", kOps<ops::Add>, "LayerNormalization(x, scale) + b -> LayerNormalization(x, scale, b)",
     N::exact, found<beside_norm, shift_norm>},
};

}  // namespace

std::span<const Rule> norm_rules() { return kNormRules; }

}  // namespace frazil::pass
