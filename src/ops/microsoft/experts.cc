#include "ops/microsoft/experts.h"

#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "ops/index/index.h"
#include "ops/microsoft/quant.h"
#include "ops/nn/norm.h"
#include "ops/view/view.h"

namespace frazil::ops::microsoft {
namespace {

constexpr Elem kWide = Elem::f32;

/// One linear layer of all experts. Absent inputs are absent values.
struct Linear {
  Expr weights;         ///< [experts, outputs, inputs], or with packed inputs
  Expr bias;            ///< [experts, outputs]
  Expr scales, points;  ///< of quantised weights
};

/// The quantisation of the weights. bits is 0 for real weights, block is 0 where a row has one scale.
struct Packing {
  std::int64_t bits = 0, block = 0;
};

/// The layers of a mixture.
struct Experts {
  Linear up, down, third;
  Packing packing;
};

bool is_activation(std::string_view name) {
  return name == "relu" || name == "gelu" || name == "silu" || name == "swiglu" || name == "identity";
}

bool is_supported_mixture(CompositeCx& cx, const ExpertAttrs& a, bool third) {
  if (cx.rank(0) != 2 && cx.rank(0) != 3) cx.error("input 'input' must have 2 or 3 axes, got {}", cx.rank(0));
  if (a.k < 1) cx.error("k {} is not positive", a.k);
  if (!is_activation(a.activation_type)) {
    cx.error("activation_type '{}' is not one of relu, gelu, silu, swiglu, identity", a.activation_type);
  }
  if (a.swiglu_fusion < 0 || a.swiglu_fusion > 2) cx.error("swiglu_fusion must be 0, 1 or 2, got {}", a.swiglu_fusion);
  const bool gated = a.activation_type == "swiglu";
  if (gated && a.swiglu_fusion == 0 && !third) cx.error("swiglu with swiglu_fusion 0 needs fc3_experts_weights");
  if (gated && a.swiglu_fusion != 0 && third) cx.error("swiglu_fusion {} has no fc3_experts_weights", a.swiglu_fusion);
  left_out(cx, "use_sparse_mixer", a.use_sparse_mixer == 0);
  return static_cast<bool>(cx.status());
}

// ---- one expert ----

/// Returns slice `expert` of x, which is a value of the surrounding block, in block `body`.
Expr of_expert(CompositeCx& body, Expr x, Expr expert) {
  return Gather({captured(body.builder(), x), expert}, {.axis = 0});
}

/// Returns the zero points of one expert, which are packed along their last axis, with the extents of `scales`.
Expr expert_points(CompositeCx& body, const Linear& layer, const Packing& packing, Expr expert, Expr scales) {
  if (!layer.points) {
    return Expand({body.number(Elem::u8, static_cast<double>(1 << (packing.bits - 1))), ShapeOf({scales})});
  }
  const Expr all = unpacked_bits(body, of_expert(body, layer.points, expert), packing.bits);
  return cut(body, all, -1, int1(body, 0), extent(scales, -1));
}

/// Returns the weights of one expert, [outputs, inputs].
Expr expert_weights(CompositeCx& body, const Linear& layer, const Packing& packing, Expr expert) {
  const Expr stored = of_expert(body, layer.weights, expert);
  if (packing.bits == 0) return as_elem(stored, kWide);
  const Expr scales = as_elem(of_expert(body, layer.scales, expert), kWide);
  const Expr points = expert_points(body, layer, packing, expert, scales);
  DequantizeAttrs by;
  by.axis = packing.block == 0 ? 0 : 1;
  by.block_size = packing.block;
  return ops::DequantizeLinear({unpacked_bits(body, stored, packing.bits), scales, points}, by);
}

Expr linear(CompositeCx& body, const Linear& layer, const Packing& packing, Expr x, Expr expert) {
  const Expr y = MatMul(x, Transpose({expert_weights(body, layer, packing, expert)}, {.perm = {1, 0}}));
  return layer.bias ? Add(y, as_elem(of_expert(body, layer.bias, expert), kWide)) : y;
}

Expr gated_product(CompositeCx& body, const ExpertAttrs& a, Expr gate, Expr other) {
  const auto number = [&](float value) { return body.number(kWide, value); };
  if (a.swiglu_limit) {
    gate = Min2(gate, number(*a.swiglu_limit));
    other = Clip({other, number(-*a.swiglu_limit), number(*a.swiglu_limit)});
  }
  const Expr swish = Mul(gate, Sigmoid(Mul(number(a.activation_alpha), gate)));
  return Mul(swish, Add(other, number(a.activation_beta)));
}

Expr plain_activation(CompositeCx&, const ExpertAttrs& a, Expr x) {
  if (a.activation_type == "relu") return Relu(x);
  if (a.activation_type == "gelu") return ops::Gelu({x}, {.approximate = "tanh"});
  if (a.activation_type == "silu") return Mul(x, Sigmoid(x));
  return x;
}

/// Returns the two parts of a row that holds both.
std::array<Expr, 2> two_parts(CompositeCx& body, Expr x, bool alternating) {
  const Expr pairs = alternating ? Transpose({x}, {.perm = {1, 0}}) : x;
  if (!alternating) {
    const Expr halves = SplitAxis({pairs}, {.axis = 1, .outer = 2});
    return {pick(body, halves, 1, 0), pick(body, halves, 1, 1)};
  }
  const Expr two = int1(body, 2);
  const Expr split = Reshape({x, join_shape({extent(x, 0), int1(body, -1), two})});
  return {pick(body, split, 2, 0), pick(body, split, 2, 1)};
}

/// Returns the result of one expert for rows x.
Expr expert_result(CompositeCx& body, const ExpertAttrs& a, const Experts& all, Expr x, Expr expert) {
  const Expr up = linear(body, all.up, all.packing, x, expert);
  Expr inner;
  if (a.activation_type != "swiglu") {
    inner = plain_activation(body, a, up);
    if (all.third.weights) inner = Mul(inner, linear(body, all.third, all.packing, x, expert));
  } else if (a.swiglu_fusion == 0) {
    inner = gated_product(body, a, up, linear(body, all.third, all.packing, x, expert));
  } else {
    const auto [gate, other] = two_parts(body, up, a.swiglu_fusion == 1);
    inner = gated_product(body, a, gate, other);
  }
  return linear(body, all.down, all.packing, inner, expert);
}

// ---- all experts ----

/// The experts of each row and their weights, each [rows, k].
struct Routes {
  Expr experts, weights;
};

/// Adds the results of the selected experts. `x` is [rows, inputs].
Expr mixture(CompositeCx& cx, const ExpertAttrs& a, const Experts& all, Expr x, const Routes& routes) {
  const Expr used = ops::Unique.call({Reshape({routes.experts, cx.ints({-1})})}, UniqueAttrs{}, 1)[0];
  const std::array sum{Expand({cx.number(kWide, 0), ShapeOf({x})})};
  const std::array sequence{used};
  const auto step = [&](CompositeCx& body, std::span<const Expr> in) -> std::vector<Expr> {
    const auto outer = [&](Expr e) { return captured(body.builder(), e); };
    const Expr expert = in[1], selected = Equal(outer(routes.experts), expert), last = body.ints({1});
    const Expr count = ReduceSum({as_elem(selected, Elem::i64), last}, {.keepdims = 0});
    const Expr rows = Transpose({NonZero({count})}, {.perm = {1, 0}}), row = Squeeze({rows, last});
    const Expr none = body.number(kWide, 0);
    const Expr weight = ReduceSum({Where(selected, outer(routes.weights), none), last}, {.keepdims = 1});
    const Expr y = expert_result(body, a, all, Gather({outer(x), row}, {.axis = 0}), expert);
    const Expr before = Gather({in[0], row}, {.axis = 0});
    const Expr after = Add(before, Mul(y, Gather({weight, row}, {.axis = 0})));
    return {ScatterND({in[0], rows, after}, {})};
  };
  return scan(cx, sum, sequence, false, 0, step)[0];
}

/// Returns x as [rows, width], in f32.
Expr rows_of(CompositeCx& cx, Expr x) {
  const Expr wide = as_elem(x, kWide);
  return x.type().rank() == 2 ? wide : Reshape({wide, join_shape({int1(cx, -1), extent(x, -1)})});
}

/// Returns the router's numbers, [rows, experts], and the k largest of each row.
struct Best {
  Expr all, values, experts;
};
Best best_experts(CompositeCx& cx, const ExpertAttrs& a, Expr rows, Expr experts, bool as_probabilities) {
  const Expr given = as_elem(fit(cx.in(1), "router_probs", {extent(rows, 0), experts}), kWide);
  const Expr all = as_probabilities ? Softmax({given}, {.axis = 1}) : given;
  const auto top = TopK.call({all, int1(cx, a.k)}, TopKAttrs{}, 2);
  return {all, top[0], top[1]};
}

Expr normalised_rows(CompositeCx& cx, Expr weights) {
  const Expr sum = ReduceSum({weights, cx.ints({1})}, {.keepdims = 1});
  const Expr none = cx.number(kWide, 0);
  return Where(Equal(sum, none), none, Div(weights, sum));
}

/// Checks a layer's weights against [experts, outputs, inputs] and its bias against [experts, outputs].
Linear checked(CompositeCx& cx, std::size_t weights, std::size_t bias, std::string_view name, Expr experts,
               Expr outputs, Expr inputs) {
  const std::string prefix(name);
  Linear layer{
      fit(cx.in(weights), prefix + "_experts_weights", {experts, outputs, inputs}), cx.builder().absent(), {}, {}};
  if (cx.has(bias)) layer.bias = fit(cx.in(bias), prefix + "_experts_bias", {experts, outputs});
  return layer;
}

bool is_fused_pair(const ExpertAttrs& a) { return a.activation_type == "swiglu" && a.swiglu_fusion != 0; }

void finish(CompositeCx& cx, const ExpertAttrs& a, const Experts& all, Expr x, const Routes& routes) {
  if (!cx.builder().status()) return;
  const Expr y = mixture(cx, a, all, x, routes);
  if (!cx.status()) return;
  cx.out(0, as_elem(cx.rank(0) == 2 ? y : Reshape({y, ShapeOf({cx.in(0)})}, {.allowzero = 1}), cx.elem(0)));
}

}  // namespace

void moe_body(CompositeCx& cx) {
  const auto& a = cx.attrs<ExpertAttrs>();
  if (!is_supported_mixture(cx, a, cx.has(6)) || !has_rank(cx, 1, 2) || !has_rank(cx, 4, 3)) return;
  const Expr x = rows_of(cx, cx.in(0)), width = extent(x, 1);
  const Expr experts = extent(cx.in(4), 0), inner = extent(cx.in(4), 2);
  Experts all;
  all.up = checked(cx, 2, 3, "fc1", experts, is_fused_pair(a) ? Mul(inner, int1(cx, 2)) : inner, width);
  all.down = checked(cx, 4, 5, "fc2", experts, width, inner);
  if (cx.has(6)) all.third = checked(cx, 6, 7, "fc3", experts, inner, width);
  const Best best = best_experts(cx, a, x, experts, true);
  const Expr weights = a.normalize_routing_weights != 0 ? normalised_rows(cx, best.values) : best.values;
  finish(cx, a, all, x, {best.experts, weights});
}

namespace {

bool is_supported_packing(CompositeCx& cx, const QuantExpertAttrs& a) {
  const std::int64_t bits = a.expert_weight_bits;
  if (bits != 2 && bits != 4 && bits != 8) cx.error("expert_weight_bits must be 2, 4 or 8, got {}", bits);
  if (a.block_size != 0) is_block_size(cx, a.block_size);
  left_out(cx, "quant_type", a.quant_type == "int");
  if (a.weights_prepacked != 0) left_out(cx, "weights_prepacked", a.weights_prepacked == -1);
  for (std::size_t i = 15; i < kQMoeIn.size(); ++i) input_left_out(cx, i, kQMoeIn[i].name);
  return static_cast<bool>(cx.status());
}

/// The input positions of a quantised layer.
struct LayerInputs {
  std::string_view name;
  std::size_t weights, scales, bias, points;
};

/// Adds the scales and zero points to a layer of [outputs, inputs], both checked. A scale belongs to a row or, with
/// three axes, to a block of a row.
void add_scales(CompositeCx& cx, const LayerInputs& at, const Packing& packing, Linear& layer, Expr outputs,
                Expr inputs) {
  const std::string prefix(at.name);
  const Expr experts = extent(layer.weights, 0), per_byte = int1(cx, 8 / packing.bits);
  const auto bytes = [&](Expr count) { return Div(Add(count, Sub(per_byte, int1(cx, 1))), per_byte); };
  const bool points = cx.has(at.points);
  if (packing.block == 0) {
    layer.scales = fit(cx.in(at.scales), prefix + "_scales", {experts, outputs});
    if (points) layer.points = fit(cx.in(at.points), prefix + "_zero_points", {experts, bytes(outputs)});
    return;
  }
  const Expr block = int1(cx, packing.block), blocks = Div(inputs, block);
  layer.scales = fit(cx.in(at.scales), prefix + "_scales", {experts, outputs, blocks});
  if (points) layer.points = fit(cx.in(at.points), prefix + "_zero_points", {experts, outputs, bytes(blocks)});
}

Linear quantised_layer(CompositeCx& cx, const LayerInputs& at, const Packing& packing, Expr experts, Expr outputs,
                       Expr inputs) {
  const Expr stored = Div(inputs, int1(cx, 8 / packing.bits));
  Linear layer = checked(cx, at.weights, at.bias, at.name, experts, outputs, stored);
  layer.points = cx.builder().absent();
  add_scales(cx, at, packing, layer, outputs, inputs);
  return layer;
}

/// Returns the weights of the selected experts: a softmax of the router's numbers, or entries of router_weights.
Expr routing_weights(CompositeCx& cx, const QuantExpertAttrs& a, const Best& best) {
  if (!cx.has(14)) return Softmax({best.values}, {.axis = 1});
  const Expr table = as_elem(Fit({cx.in(14), ShapeOf({best.all})}, {.name = "router_weights"}), kWide);
  const Expr chosen = GatherElements({table, best.experts}, {.axis = 1});
  const Expr weights = a.normalize_routing_weights != 0 ? normalised_rows(cx, chosen) : chosen;
  return Where(Greater(weights, cx.number(kWide, 1e-8)), weights, cx.number(kWide, 0));
}

}  // namespace

void qmoe_body(CompositeCx& cx) {
  const auto& a = cx.attrs<QuantExpertAttrs>();
  if (!is_supported_mixture(cx, a, cx.has(8)) || !is_supported_packing(cx, a)) return;
  if (!has_rank(cx, 1, 2) || !has_rank(cx, 5, 3)) return;
  if (cx.has(8) != cx.has(9)) return cx.error("fc3_experts_weights and fc3_scales are given together or not at all");
  const Packing packing{a.expert_weight_bits, a.block_size};
  const Expr x = rows_of(cx, cx.in(0)), width = extent(x, 1), experts = extent(cx.in(5), 0);
  const Expr inner = Mul(extent(cx.in(5), 2), int1(cx, 8 / packing.bits));
  const Expr outputs = is_fused_pair(a) ? Mul(inner, int1(cx, 2)) : inner;
  Experts all{{}, {}, {}, packing};
  all.up = quantised_layer(cx, {"fc1", 2, 3, 4, 11}, packing, experts, outputs, width);
  all.down = quantised_layer(cx, {"fc2", 5, 6, 7, 12}, packing, experts, width, inner);
  if (cx.has(8)) all.third = quantised_layer(cx, {"fc3", 8, 9, 10, 13}, packing, experts, inner, width);
  const Best best = best_experts(cx, a, x, experts, false);
  finish(cx, a, all, x, {best.experts, routing_weights(cx, a, best)});
}

}  // namespace frazil::ops::microsoft
