#include "ops/nn/attention.h"

#include <limits>

#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "ops/index/index.h"
#include "ops/nn/attend.h"
#include "ops/nn/norm.h"
#include "ops/view/view.h"
#include "tensor/onnx_proto.h"

namespace frazil::ops {
namespace {

/// Returns [batch, steps, heads * size] as [batch, heads, steps, size].
Expr split_heads(Expr x, std::int64_t heads) {
  return Transpose({SplitAxis({x}, {.axis = 2, .outer = heads})}, {.perm = {0, 2, 1, 3}});
}

std::optional<Heads> attention_heads(CompositeCx& cx) {
  const auto& a = cx.attrs<AttentionAttrs>();
  Heads h{cx.in(0), cx.in(1), cx.in(2)};
  for (std::size_t i = 0; i < 3; ++i) {
    if (cx.rank(i) != 4 && cx.rank(i) != 3) {
      cx.error("input {} must have 3 or 4 axes, got {}", i, cx.rank(i));
      return std::nullopt;
    }
  }
  const bool flat_q = cx.rank(0) == 3, flat_k = cx.rank(1) == 3, flat_v = cx.rank(2) == 3;
  if ((flat_q && a.q_num_heads.value_or(0) < 1) || ((flat_k || flat_v) && a.kv_num_heads.value_or(0) < 1)) {
    cx.error("inputs with 3 axes need positive q_num_heads and kv_num_heads");
    return std::nullopt;
  }
  if (flat_q) h.q = split_heads(h.q, *a.q_num_heads);
  if (flat_k) h.k = split_heads(h.k, *a.kv_num_heads);
  if (flat_v) h.v = split_heads(h.v, *a.kv_num_heads);
  if (cx.has(4)) h.k = Concat({cx.in(4), h.k}, {.axis = 2});
  if (cx.has(5)) h.v = Concat({cx.in(5), h.v}, {.axis = 2});
  const Expr batch = extent(h.q, 0), groups = extent(h.k, 1), keys = extent(h.k, 2);
  h.k = fit(h.k, "K", {batch, groups, keys, extent(h.q, 3)});
  h.v = fit(h.v, "V", {batch, groups, keys, extent(h.v, 3)});
  if (cx.builder().status()) h.grouped = h.q.type().shape[1] != h.k.type().shape[1];
  return h;
}

/// Returns the mask, padded along its last axis to the number of keys. The padding hides a key: false in a bool mask,
/// -inf in a bias.
Expr padded_mask(CompositeCx& cx, const Heads& h) {
  const bool truth = cx.elem(3) == Elem::boolean;
  const Expr mask = truth ? cx.in(3) : as_elem(cx.in(3), cx.elem(0));
  const Shape shape = cx.type(3).shape;
  if (shape.empty() || shape.back() == Dim(1) || shape.back() == h.k.type().shape[2]) return mask;
  const Expr missing = Sub(extent(h.k, 2), extent(mask, -1));
  const Expr pads = join_shape({int1(cx, 0), missing});
  const Expr fill = truth ? cx.builder().scalar(false) : cx.number(cx.elem(0), kMinusInfinity);
  return Pad({mask, pads, fill, cx.ints({-1})});
}

/// Returns the position of the first query, absent if it is 0.
Expr first_query(CompositeCx& cx, const Heads& h) {
  if (cx.has(4)) return extent(cx.in(4), 2);
  return cx.has(6) ? Sub(cx.in(6), extent(h.q, 2)) : cx.builder().absent();
}

/// Returns the probabilities. With masks, a row of -inf becomes a row of 0.
Expr probabilities(CompositeCx& cx, Expr scores, bool masked) {
  const Elem elem = scores.type().elem;
  const Elem precision = cx.attrs<AttentionAttrs>().softmax_precision.value_or(elem);
  if (!is_float(precision)) {
    cx.error("softmax_precision {} is not a float type", name_of(precision));
    return cx.builder().absent();
  }
  const Expr p = as_elem(Softmax({as_elem(scores, precision)}, {.axis = -1}), elem);
  return defined_rows(cx, p, scores, masked ? 1 : 0);
}

/// The masks of the scores.
struct Masks {
  Expr bias, keep, first, lengths;
  bool any(bool causal) const { return bias || keep || causal || lengths; }
};
Masks masks_of(CompositeCx& cx, const Heads& h) {
  const Expr none = cx.builder().absent();
  Masks m{none, none, first_query(cx, h), cx.has(6) ? cx.in(6) : none};
  if (cx.has(3)) (cx.elem(3) == Elem::boolean ? m.keep : m.bias) = padded_mask(cx, h);
  return m;
}

/// Returns true if the scores are not requested and all tensors have one element type.
bool is_plain(CompositeCx& cx) {
  const Elem elem = cx.elem(0);
  const auto precision = cx.attrs<AttentionAttrs>().softmax_precision;
  return cx.output_count() < 4 && cx.elem(2) == elem && (!precision || *precision == elem);
}

/// Returns the result as [batch, steps, heads, size].
Expr attended(CompositeCx& cx, const Heads& h) {
  const auto& a = cx.attrs<AttentionAttrs>();
  const bool causal = a.is_causal != 0;
  const Masks m = masks_of(cx, h);
  const AttendAttrs attrs{
      .causal = a.is_causal, .scale = a.scale, .softcap = a.softcap, .undefined = m.any(causal) ? 1 : 0};
  return Attend({h.q, h.k, h.v, m.bias, m.keep, causal ? m.first : cx.builder().absent(), m.lengths}, attrs);
}

/// Returns the main result as [batch, steps, heads, size], and sets the output of scores if it is requested.
Expr attended_with_scores(CompositeCx& cx, const Heads& h) {
  const auto& a = cx.attrs<AttentionAttrs>();
  const Masks m = masks_of(cx, h);
  const Expr raw = raw_scores(cx, h, scaled_query(cx, h.q, a.scale));
  const Expr capped = capped_scores(cx, raw, a.softcap);
  Expr scores = m.bias ? Add(capped, m.bias) : capped;
  const Expr keep = visible_keys(cx, h, m.keep, a.is_causal != 0, m.first, m.lengths);
  if (keep) scores = Where(keep, scores, cx.number(cx.elem(0), kMinusInfinity));
  const Expr p = probabilities(cx, scores, m.any(a.is_causal != 0));
  const std::array modes{raw, capped, scores, p};
  if (cx.output_count() > 3) cx.out(3, modes[static_cast<std::size_t>(a.qk_matmul_output_mode)]);
  return Transpose({as_elem(weighted_values(cx, h, p), cx.elem(0))}, {.perm = {0, 2, 1, 3}});
}

}  // namespace

void attention_body(CompositeCx& cx) {
  const std::int64_t mode = cx.attrs<AttentionAttrs>().qk_matmul_output_mode;
  if (mode < 0 || mode > 3) return cx.error("qk_matmul_output_mode must be 0 to 3, got {}", mode);
  const auto heads = attention_heads(cx);
  if (!heads || !cx.builder().status()) return;
  const Expr y = is_plain(cx) ? attended(cx, *heads) : attended_with_scores(cx, *heads);
  cx.out(0, cx.rank(0) == 3 ? MergeAxes({y}, {.axis = 2, .count = 2}) : Transpose({y}, {.perm = {0, 2, 1, 3}}));
  if (cx.output_count() > 1) cx.out(1, heads->k);
  if (cx.output_count() > 2) cx.out(2, heads->v);
}

namespace {

/// Checks K or V against its part of the query and returns both.
std::optional<Heads> flex_heads(CompositeCx& cx, Expr q, Expr kv, const char* name, Expr last) {
  if (q.type().rank() != 4 || kv.type().rank() != 4) {
    cx.error("its inputs must have 4 axes, got {} and {}", q.type().rank(), kv.type().rank());
    return std::nullopt;
  }
  const Expr fitting = fit(kv, name, {extent(q, 0), extent(kv, 1), extent(kv, 2), last});
  Heads h{q, fitting, fitting};
  h.grouped = q.type().shape[1] != kv.type().shape[1];
  return h;
}

}  // namespace

void attention_scores_body(CompositeCx& cx) {
  const auto& a = cx.attrs<AttentionScoresAttrs>();
  const Expr q = cx.in(0);
  const auto h = flex_heads(cx, q, cx.in(1), "K", q.type().rank() == 4 ? extent(q, 3) : int1(cx, 0));
  if (!h || !cx.builder().status()) return;
  // Both factors take the square root of the scale, so that products of large f16 values do not overflow.
  const Expr scale =
      a.scale ? cx.number(Elem::f32, *a.scale) : Reciprocal(Sqrt(as_elem(extent_scalar(q, 3), Elem::f32)));
  const Expr root = as_elem(Sqrt(scale), cx.elem(0));
  const Heads scaled{q, Mul(h->k, root), h->v, h->grouped};
  cx.out(0, raw_scores(cx, scaled, Mul(q, root)));
}

void attention_weights_body(CompositeCx& cx) {
  const Elem own = cx.elem(0), least = own == Elem::f64 ? own : Elem::f32;
  const Elem precision = cx.attrs<AttentionWeightsAttrs>().softmax_precision.value_or(least);
  if (!contains(elems::kFloat, precision)) {
    return cx.error("softmax_precision {} is not a float type", name_of(precision));
  }
  cx.out(0, Softmax({as_elem(cx.in(0), precision)}, {.axis = -1}));
}

void attention_values_body(CompositeCx& cx) {
  const Expr p = cx.in(0), v = cx.in(1);
  const auto h = flex_heads(cx, p, v, "V", v.type().rank() == 4 ? extent(v, 3) : int1(cx, 0));
  if (!h || !cx.builder().status()) return;
  const Heads wide{p, as_elem(h->k, p.type().elem), as_elem(h->v, p.type().elem), h->grouped};
  cx.out(0, as_elem(weighted_values(cx, wide, p), cx.elem(2)));
}

void flex_attention_body(CompositeCx& cx) {
  const auto& a = cx.attrs<FlexAttentionAttrs>();
  const Expr score = AttentionScores({cx.in(0), cx.in(1)}, {.scale = a.scale});
  const Expr p = AttentionWeights({score}, {.softmax_precision = a.softmax_precision});
  cx.out(0, AttentionValues({p, cx.in(2), cx.in(0)}));
}

namespace {

/// Computes a depthwise convolution whose number of channels is unknown at build time. The channels become part of the
/// batch.
Expr conv_by_channel(CompositeCx& cx, Expr x, Expr weight, Expr bias) {
  const Expr by_channel = Transpose({x}, {.perm = {1, 0, 2}});
  const auto sum = scan(cx, {}, std::array{by_channel, weight}, false, 1,
                        [](CompositeCx& body, std::span<const Expr> in) -> std::vector<Expr> {
                          const Expr row = Unsqueeze({in[0], body.ints({1})}),
                                     taps = Unsqueeze({in[1], body.ints({0})});
                          return {Squeeze({Conv({row, taps}), body.ints({1})})};
                        })[0];
  const Expr y = Transpose({sum}, {.perm = {1, 0, 2}});
  return bias ? Add(y, Unsqueeze({bias, cx.ints({1})})) : y;
}

}  // namespace

void causal_conv_body(CompositeCx& cx) {
  const auto& a = cx.attrs<CausalConvAttrs>();
  const Expr x = cx.in(0), weight = cx.in(1);
  if (cx.rank(0) != 3 || cx.rank(1) != 3) return cx.error("inputs 'input' and 'weight' must have 3 axes");
  const Dim channels = cx.type(1).shape[0];
  if (a.activation != "none" && a.activation != "silu" && a.activation != "swish") {
    return cx.error("activation '{}' is not one of none, silu, swish", a.activation);
  }
  const Elem elem = cx.elem(0);
  const Expr kept = Sub(extent(weight, 2), int1(cx, 1));
  const Expr past = cx.has(3) ? cx.in(3) : Expand({cx.number(elem, 0), join_shape({extent(x, 0), extent(x, 1), kept})});
  const Expr all = Concat({past, x}, {.axis = 2});
  ConvAttrs conv;
  const auto bias = cx.has(2) ? cx.in(2) : cx.builder().absent();
  Expr y = cx.builder().absent();
  if (channels.is_const()) {
    conv.group = channels.value();
    y = Conv({all, weight, bias}, conv);
  } else {
    y = conv_by_channel(cx, all, weight, bias);
  }
  if (a.activation != "none") {
    const Expr wide = as_elem(y, compute_elem(elem));
    y = as_elem(Mul(wide, Sigmoid(wide)), elem);
  }
  cx.out(0, y);
  const Expr end = extent(all, 2);
  if (cx.output_count() > 1) cx.out(1, cut(cx, all, 2, Sub(end, kept), end));
}

namespace {

/// Returns [batch, steps, heads * size] as [steps, batch, heads, size].
Expr heads_by_step(Expr x, std::int64_t heads) {
  return Transpose({SplitAxis({x}, {.axis = 2, .outer = heads})}, {.perm = {1, 0, 2, 3}});
}

struct LinearRule {
  bool gated, delta;
  std::int64_t group;  ///< query heads per state head
};

/// Computes one step: (state, q, k, v, decay?, beta?) to (state, output). The state is [b, h, dk, dv].
std::vector<Expr> linear_step(CompositeCx& cx, std::span<const Expr> in, const LinearRule& rule, Expr scale) {
  Expr state = in[0];
  const Elem elem = state.type().elem;
  const Expr q = as_elem(in[1], elem), k = as_elem(in[2], elem), v = as_elem(in[3], elem);
  std::size_t next = 4;
  if (rule.gated) state = Mul(state, Unsqueeze({Exp(as_elem(in[next++], elem)), cx.ints({-1})}));
  const Expr column = Unsqueeze({k, cx.ints({-1})});
  Expr write = v;
  if (rule.delta) {
    const Expr recalled = Squeeze({MatMul(Unsqueeze({k, cx.ints({-2})}), state), cx.ints({-2})});
    write = Mul(as_elem(in[next], elem), Sub(v, recalled));
  }
  state = Add(state, Mul(column, Unsqueeze({write, cx.ints({-2})})));
  const Expr rows = SplitAxis({q}, {.axis = 1, .inner = rule.group});
  const Expr read = Mul(captured(cx.builder(), scale), MatMul(rows, state));
  const Expr y = MergeAxes({read}, {.axis = 1, .count = 2});
  return {state, as_elem(y, in[1].type().elem)};
}

}  // namespace

void linear_attention_body(CompositeCx& cx) {
  const auto& a = cx.attrs<LinearAttentionAttrs>();
  const LinearRule rule{a.update_rule == "gated" || a.update_rule == "gated_delta",
                        a.update_rule == "delta" || a.update_rule == "gated_delta",
                        a.kv_num_heads > 0 ? a.q_num_heads / a.kv_num_heads : 0};
  if (!rule.gated && !rule.delta && a.update_rule != "linear") {
    return cx.error("update_rule '{}' is not one of linear, gated, delta, gated_delta", a.update_rule);
  }
  if (rule.group < 1 || a.q_num_heads % a.kv_num_heads != 0) {
    return cx.error("q_num_heads {} is not a positive multiple of kv_num_heads {}", a.q_num_heads, a.kv_num_heads);
  }
  if (cx.rank(0) != 3 || cx.rank(1) != 3 || cx.rank(2) != 3) return cx.error("query, key and value must have 3 axes");
  if (rule.gated != cx.has(4) || rule.delta != cx.has(5)) {
    return cx.error("update_rule '{}' does not fit the inputs decay and beta", a.update_rule);
  }
  const Expr q = heads_by_step(cx.in(0), a.q_num_heads), k = heads_by_step(cx.in(1), a.kv_num_heads);
  std::vector<Expr> sequences{q, k, heads_by_step(cx.in(2), a.kv_num_heads)};
  if (rule.gated) sequences.push_back(heads_by_step(cx.in(4), a.kv_num_heads));
  if (rule.delta) {
    const Expr beta = Unsqueeze({cx.in(5), cx.ints({3})});
    sequences.push_back(Transpose({beta}, {.perm = {1, 0, 2, 3}}));
  }
  const Elem elem = compute_elem(cx.elem(0));
  const Expr shape = join_shape({extent(k, 1), extent(k, 2), extent(k, 3), extent(sequences[2], 3)});
  const Expr start = cx.has(3) ? as_elem(cx.in(3), elem) : Expand({cx.number(elem, 0), shape});
  const Expr scale = a.scale != 0 ? cx.number(elem, a.scale) : Reciprocal(Sqrt(as_elem(extent_scalar(k, 3), elem)));
  const std::array states{start};
  const auto result = scan(cx, states, sequences, false, 1, [&](CompositeCx& body, std::span<const Expr> in) {
    return linear_step(body, in, rule, scale);
  });
  const Expr y = Transpose({result[1]}, {.perm = {1, 0, 2, 3}});
  cx.out(0, MergeAxes({y}, {.axis = 2, .count = 2}));
  if (cx.output_count() > 1) cx.out(1, as_elem(result[0], cx.has(3) ? cx.elem(3) : cx.elem(0)));
}

namespace {

Expr every_second(CompositeCx& cx, Expr x, std::int64_t from) {
  const Expr end = extent(x, -1);
  return Slice({x, int1(cx, from), end, cx.ints({3}), cx.ints({2})});
}

/// Rotates pairs of adjacent features.
Expr rotate_pairs(CompositeCx& cx, Expr x, Expr cosine, Expr sine) {
  const Expr first = every_second(cx, x, 0), second = every_second(cx, x, 1), axis = cx.ints({4});
  const Expr real = Sub(Mul(cosine, first), Mul(sine, second));
  const Expr imaginary = Add(Mul(sine, first), Mul(cosine, second));
  return MergeAxes({Concat({Unsqueeze({real, axis}), Unsqueeze({imaginary, axis})}, {.axis = 4})},
                   {.axis = 3, .count = 2});
}

/// Returns the cosines or sines for each position, with an axis for the heads.
Expr angles(CompositeCx& cx, std::size_t input, Expr half, std::int64_t head_axis) {
  const Expr table = cx.has(3) ? Gather({cx.in(input), cx.in(3)}, {.axis = 0}) : cx.in(input);
  const Expr part = cut(cx, table, 2, int1(cx, 0), half);
  const Expr fitting = fit(part, input == 1 ? "cos_cache" : "sin_cache", {extent(part, 0), extent(part, 1), half});
  return Unsqueeze({fitting, cx.ints({head_axis})});
}

}  // namespace

void rotary_body(CompositeCx& cx) {
  const auto& a = cx.attrs<RotaryAttrs>();
  const bool flat = cx.rank(0) == 3;
  if (!flat && cx.rank(0) != 4) return cx.error("input 'X' must have 3 or 4 axes, got {}", cx.rank(0));
  if (flat && a.num_heads < 1) return cx.error("an input with 3 axes needs a positive num_heads");
  if (a.rotary_embedding_dim < 0 || a.rotary_embedding_dim % 2 != 0) {
    return cx.error("rotary_embedding_dim {} is not even", a.rotary_embedding_dim);
  }
  const Expr x = flat ? SplitAxis({cx.in(0)}, {.axis = 2, .outer = a.num_heads}) : cx.in(0);
  const Expr size = a.rotary_embedding_dim > 0 ? int1(cx, a.rotary_embedding_dim) : extent(x, 3);
  const Expr half = Div(size, int1(cx, 2));
  const Expr turned = a.rotary_embedding_dim > 0 ? cut(cx, x, 3, int1(cx, 0), size) : x;
  const std::int64_t head_axis = flat ? 2 : 1;
  const Expr cosine = angles(cx, 1, half, head_axis), sine = angles(cx, 2, half, head_axis);
  Expr y =
      a.interleaved != 0 ? rotate_pairs(cx, turned, cosine, sine) : Rotate({turned, cosine, sine}, {.half_tables = 1});
  if (a.rotary_embedding_dim > 0) y = Concat({y, cut(cx, x, 3, size, extent(x, 3))}, {.axis = 3});
  cx.out(0, flat ? MergeAxes({y}, {.axis = 2, .count = 2}) : y);
}

}  // namespace frazil::ops
