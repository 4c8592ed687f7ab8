#include "ops/microsoft/group_query.h"

#include <limits>

#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/index/index.h"
#include "ops/microsoft/attention.h"
#include "ops/nn/norm.h"
#include "ops/view/view.h"

namespace frazil::ops::microsoft {
namespace {

/// The query, key and value of the new steps, each [batch, heads, steps, size] in compute type.
struct Fresh {
  Expr q, k, v;
};

bool is_supported_query(CompositeCx& cx) {
  const auto& a = cx.attrs<GroupQueryAttrs>();
  if (a.kv_num_heads < 1 || a.num_heads < 1 || a.num_heads % a.kv_num_heads != 0) {
    cx.error("num_heads {} is not a positive multiple of kv_num_heads {}", a.num_heads, a.kv_num_heads);
    return false;
  }
  if (a.qk_output < 0 || a.qk_output > 2) {
    cx.error("qk_output must be 0, 1 or 2, got {}", a.qk_output);
    return false;
  }
  if (a.local_window_size < -1 || (a.local_window_size >= 0 && a.causal == 0)) {
    cx.error("local_window_size must be at least -1, and -1 where causal is 0, got {}", a.local_window_size);
    return false;
  }
  return left_out(cx, "k_quant_type", a.k_quant_type == "NONE") &&
         left_out(cx, "v_quant_type", a.v_quant_type == "NONE") &&
         left_out(cx, "kv_cache_bit_width", a.kv_cache_bit_width.value_or(0) == 0) &&
         left_out(cx, "sliding_window_cache", a.sliding_window_cache == 0) && input_left_out(cx, 12, "k_scale") &&
         input_left_out(cx, 13, "v_scale");
}

/// Returns heads [from, from + count) of a packed projection [batch, steps, heads, size].
Expr some_heads(CompositeCx& cx, Expr packed, std::int64_t from, std::int64_t count) {
  return Transpose({cut(cx, packed, 2, int1(cx, from), int1(cx, from + count))}, {.perm = {0, 2, 1, 3}});
}

std::optional<Fresh> fresh_heads(CompositeCx& cx) {
  const auto& a = cx.attrs<GroupQueryAttrs>();
  if (!has_rank(cx, 0, 3)) return std::nullopt;
  if (cx.has(1) != cx.has(2)) {
    cx.error("key and value are given together or not at all");
    return std::nullopt;
  }
  const Expr query = widened(cx.in(0));
  if (!cx.has(1)) {
    std::int64_t heads = 0;
    if (__builtin_add_overflow(a.num_heads, a.kv_num_heads, &heads) ||
        __builtin_add_overflow(heads, a.kv_num_heads, &heads)) {
      cx.error("num_heads {} is too large", a.num_heads);
      return std::nullopt;
    }
    const Expr packed = SplitAxis({query}, {.axis = 2, .outer = heads});
    return Fresh{some_heads(cx, packed, 0, a.num_heads), some_heads(cx, packed, a.num_heads, a.kv_num_heads),
                 some_heads(cx, packed, a.num_heads + a.kv_num_heads, a.kv_num_heads)};
  }
  if (!has_rank(cx, 1, 3) || !has_rank(cx, 2, 3)) return std::nullopt;
  const Expr q = split_heads(query, a.num_heads);
  const auto like_query = [&](std::size_t i, const char* name) {
    const Expr x = split_heads(widened(cx.in(i)), a.kv_num_heads);
    return fit(x, name, {extent(q, 0), int1(cx, a.kv_num_heads), extent(q, 2), extent(q, 3)});
  };
  return Fresh{q, like_query(1, "key"), like_query(2, "value")};
}

/// The positions of the new steps in the cache.
struct Steps {
  Expr count;   ///< number of new steps; 1-D of one element, like total
  Expr total;   ///< number of steps of the longest item
  Expr prompt;  ///< true when no steps precede the new ones
  Expr last;    ///< [batch]: the last key of each item
  Expr past;    ///< [batch]: number of steps before the new ones
};

Steps read_steps(CompositeCx& cx, Expr batch, Expr count) {
  Steps s{count, {}, {}, {}, {}};
  const Expr total = Reshape({as_elem(cx.in(6), Elem::i64), cx.ints({1})});
  const Expr none = int1(cx, 0), limit = int1(cx, std::numeric_limits<std::int32_t>::max());
  s.total = total;
  s.prompt = Equal(total, count);
  const Expr lengths = Reshape({cx.in(5), batch});
  s.last = in_range(lengths, "seqlens_k", none, total);
  const Expr before = Where(s.prompt, none, Sub(Add(s.last, int1(cx, 1)), count));
  s.past = in_range(before, "seqlens_k + 1 - sequence_length:", none, limit);
  return s;
}

Expr positions(CompositeCx& cx, const Steps& s) {
  const Expr step = iota(cx, Squeeze({s.count, cx.ints({0})}));
  return Add(Unsqueeze({s.past, cx.ints({1})}), step);
}

Expr normalised(CompositeCx& cx, Expr x, std::size_t weight, std::string name) {
  LayerNormAttrs norm;
  norm.epsilon = cx.attrs<GroupQueryAttrs>().qk_norm_epsilon.value_or(1e-6f);
  return RMSNormalization({x, widened(fit(cx.in(weight), std::move(name), {extent(x, 3)}))}, norm);
}

bool rotate(CompositeCx& cx, Fresh& h, const Steps& s) {
  if (cx.attrs<GroupQueryAttrs>().do_rotary == 0) return true;
  if (!cx.has(7) || !cx.has(8)) {
    cx.error("do_rotary needs cos_cache and sin_cache");
    return false;
  }
  if (!has_rank(cx, 7, 2) || !has_rank(cx, 8, 2)) return false;
  Expr places = positions(cx, s);
  if (cx.has(9)) {
    // The positions in a prompt follow from the first one.
    if (!has_rank(cx, 9, 2)) return false;
    const Expr given = fit(cx.in(9), "position_ids", {extent(h.q, 0), s.count});
    const Expr first = cut(cx, cut(cx, given, 0, int1(cx, 0), int1(cx, 1)), 1, int1(cx, 0), int1(cx, 1));
    places = Where(s.prompt, Add(places, first), given);
  }
  const bool interleaved = cx.attrs<GroupQueryAttrs>().rotary_interleaved != 0;
  const Expr cosines = widened(cx.in(7)), sines = widened(cx.in(8));
  h.q = rotated(cx, h.q, cosines, sines, places, interleaved);
  h.k = rotated(cx, h.k, cosines, sines, places, interleaved);
  return true;
}

/// Returns the cache extended to the longest item: used entries, the new steps at their positions, then zeros.
Expr present(CompositeCx& cx, std::size_t past, std::string name, Expr fresh, const Steps& s) {
  const Expr batch = extent(fresh, 0), heads = extent(fresh, 1), size = extent(fresh, 3);
  const Expr zero = cx.number(fresh.type().elem, 0), none = int1(cx, 0);
  const Expr given = cx.has(past)
                         ? fit(widened(cx.in(past)), std::move(name), {batch, heads, extent(cx.in(past), 2), size})
                         : Expand({zero, join_shape({batch, heads, none, size})});
  const Expr missing = Sub(Max2(extent(given, 2), s.total), extent(given, 2));
  const Expr grown = ops::Pad({given, join_shape({none, missing}), zero, cx.ints({2})});
  const Expr used = Less(iota(cx, extent_scalar(grown, 2)), Unsqueeze({s.past, cx.ints({1})}));
  return TensorScatter({Where(Unsqueeze({used, cx.ints({1, 3})}), grown, zero), fresh, s.past}, {.axis = -2});
}

/// Returns true where a query sees a key, [batch, 1, steps, total].
Expr visible(CompositeCx& cx, const Steps& s) {
  const auto& a = cx.attrs<GroupQueryAttrs>();
  const Expr key = iota(cx, Squeeze({s.total, cx.ints({0})}));
  Expr keep = LessOrEqual(key, append_unit_axes(cx, s.last, 2));
  if (a.causal != 0) {
    const Expr own = Unsqueeze({positions(cx, s), cx.ints({2})});
    keep = And(keep, LessOrEqual(key, own));
    if (a.local_window_size >= 0) keep = And(keep, Greater(key, Sub(own, int1(cx, a.local_window_size))));
  }
  return Unsqueeze({keep, cx.ints({1})});
}

/// Returns the bias to add to the scores, [batch, 1 or heads, steps, total].
Expr bias_of_scores(CompositeCx& cx, const Fresh& h, const Steps& s, Expr keep) {
  const Elem elem = h.q.type().elem;
  const Expr lowest = cx.number(elem, -std::numeric_limits<double>::infinity());
  const Expr hidden = Where(keep, cx.number(elem, 0), lowest);
  if (!cx.has(10)) return hidden;
  const Expr shape = join_shape({extent(h.q, 0), extent(h.q, 1), s.count, s.total});
  return Add(widened(Fit({cx.in(10), shape}, {.name = "attention_bias", .broadcasts = 1})), hidden);
}

/// Adds a zero key and a zero value whose score is the head's sink. The key takes probability and contributes nothing.
void add_sink(CompositeCx& cx, Fresh& h, Expr& bias, const Steps& s) {
  const Elem elem = h.q.type().elem;
  const Expr one_step = int1(cx, 1), heads = extent(h.q, 1);
  const auto with_zero = [&](Expr x) {
    const Expr shape = join_shape({extent(x, 0), extent(x, 1), one_step, extent(x, 3)});
    return Concat({x, Expand({cx.number(elem, 0), shape})}, {.axis = 2});
  };
  h.k = with_zero(h.k);
  h.v = with_zero(h.v);
  Expr sink = cx.number(elem, 0);
  if (cx.has(11)) sink = append_unit_axes(cx, widened(fit(cx.in(11), "head_sink", {heads})), 2);
  const Expr rows_shape = join_shape({extent(h.q, 0), heads, s.count});
  const Expr column = Expand({sink, join_shape({rows_shape, one_step})});
  bias = Concat({Expand({bias, join_shape({rows_shape, s.total})}), column}, {.axis = 3});
}

}  // namespace

void group_query_body(CompositeCx& cx) {
  const auto& a = cx.attrs<GroupQueryAttrs>();
  if (!is_supported_query(cx)) return;
  auto h = fresh_heads(cx);
  if (!h) return;
  if (cx.has(3) != cx.has(4)) return cx.error("past_key and past_value are given together or not at all");
  if (cx.has(3) && (!has_rank(cx, 3, 4) || !has_rank(cx, 4, 4))) return;
  if (cx.has(14) != cx.has(15)) return cx.error("q_norm_weight and k_norm_weight are given together or not at all");
  const Steps s = read_steps(cx, extent(h->q, 0), extent(h->q, 2));
  if (cx.has(14)) {
    h->q = normalised(cx, h->q, 14, "q_norm_weight");
    h->k = normalised(cx, h->k, 15, "k_norm_weight");
  }
  if (!rotate(cx, *h, s)) return;
  const Elem elem = cx.elem(0);
  const Expr keys = present(cx, 3, "past_key", h->k, s), values = present(cx, 4, "past_value", h->v, s);
  h->k = cut(cx, keys, 2, int1(cx, 0), s.total);
  h->v = cut(cx, values, 2, int1(cx, 0), s.total);
  const Expr keep = visible(cx, s);
  Expr bias = bias_of_scores(cx, *h, s, keep);
  if (a.smooth_softmax == 1 || cx.has(11)) add_sink(cx, *h, bias, s);
  AttentionAttrs inner;
  if (a.scale && *a.scale != 0) inner.scale = a.scale;
  inner.softcap = a.softcap;
  inner.qk_matmul_output_mode = a.qk_output == 1 ? 2 : 3;
  const bool scores = cx.output_count() > 3;
  if (scores && a.qk_output == 0) return cx.error("output_qk needs qk_output 1 or 2");
  const auto y = ops::Attention.call({h->q, h->k, h->v, bias}, inner, scores ? 4 : 1);
  cx.out(0, as_elem(join_heads(y[0]), elem));
  if (cx.output_count() > 1) cx.out(1, as_elem(keys, elem));
  if (cx.output_count() > 2) cx.out(2, as_elem(values, elem));
  if (!scores) return;
  const Expr part = cut(cx, y[3], 3, int1(cx, 0), s.total);
  cx.out(3, as_elem(Where(keep, part, cx.number(part.type().elem, 0)), elem));
}

}  // namespace frazil::ops::microsoft
