#include "ops/microsoft/attention.h"

#include <limits>

#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/microsoft/quant.h"
#include "ops/view/view.h"

namespace frazil::ops::microsoft {

Expr split_heads(Expr x, std::int64_t heads) {
  return Transpose({SplitAxis({x}, {.axis = 2, .outer = heads})}, {.perm = {0, 2, 1, 3}});
}
Expr join_heads(Expr x) { return MergeAxes({Transpose({x}, {.perm = {0, 2, 1, 3}})}, {.axis = 2, .count = 2}); }
Expr sum_of(Expr a, Expr b) { return !a ? b : !b ? a : Add(a, b); }

namespace {

constexpr float kFilter = -10000;

/// Q, K and V of all heads, each [batch, heads, steps, size] in compute type.
struct Heads {
  Expr q, k, v;
  Expr past;  ///< number of cached steps, a 1-D tensor of one element; absent without a cache
};

bool positive_heads(CompositeCx& cx, std::int64_t heads) {
  if (heads < 1) cx.error("num_heads {} is not positive", heads);
  return heads >= 1;
}

Expr total_steps(const Heads& h) { return extent(h.k, 2); }

/// Returns the number to add to the scores: 0 where `keep` is true, else `filter`.
Expr penalty(CompositeCx& cx, Expr keep, Elem elem, double filter) {
  return Where(keep, cx.number(elem, 0), cx.number(elem, filter));
}

/// Returns the ends and starts of the kept keys, [2, batch], from a mask of batch or 2 * batch numbers.
Expr ends_and_starts(CompositeCx& cx, Expr mask, Expr batch) {
  const Expr table = Reshape({mask, join_shape({int1(cx, -1), batch})});
  const Expr count = in_range(extent(table, 0), "mask_index: the number of rows", int1(cx, 1), int1(cx, 3));
  const Expr missing = Sub(int1(cx, 2), count);
  return ops::Pad({table, join_shape({int1(cx, 0), missing}), cx.builder().absent(), cx.ints({0})});
}

/// Returns true for keys before each item's end and, if the mask has `starts`, not before its start.
Expr kept_spans(CompositeCx& cx, Expr mask, Expr batch, Expr total, bool starts) {
  const Expr key = iota(cx, Squeeze({total, cx.ints({0})})), lengths = as_elem(mask, Elem::i64);
  const auto before = [&](Expr ends) { return Less(key, Unsqueeze({ends, cx.ints({1})})); };
  Expr keep;
  if (!starts) {
    keep = before(fit(lengths, "key_padding_mask or mask_index", {batch}));
  } else {
    const Expr both = ends_and_starts(cx, lengths, batch);
    keep = And(before(pick(cx, both, 0, 0)), GreaterOrEqual(key, Unsqueeze({pick(cx, both, 0, 1), cx.ints({1})})));
  }
  return Unsqueeze({keep, cx.ints({1, 2})});
}

/// Returns whether the first extents are provably equal.
bool same_extent(Expr a, Expr b) {
  return a && b && a.type().rank() > 0 && b.type().rank() > 0 && a.type().shape[0] == b.type().shape[0];
}

/// Returns true where input `i` lets a query see a key, [batch, 1, steps or 1, total].
Expr kept_by_mask(CompositeCx& cx, std::size_t i, std::string name, const Heads& h, bool starts) {
  const Expr mask = cx.in(i), batch = extent(h.q, 0), total = total_steps(h), none = cx.number(Elem::i32, 0);
  switch (cx.rank(i)) {
    case 1: return kept_spans(cx, mask, batch, total, starts && !same_extent(mask, h.q));
    case 2: return Unsqueeze({Greater(fit(mask, std::move(name), {batch, total}), none), cx.ints({1, 2})});
    case 3: {
      const Expr full = fit(mask, std::move(name), {batch, extent(h.q, 2), total});
      return Unsqueeze({Greater(full, none), cx.ints({1})});
    }
    default: cx.unsupported("input {} with {} axes is not supported; give it 1 to 3", name, cx.rank(i));
  }
  return cx.builder().absent();
}

/// Returns the sum of mask, causality and bias, to be added to the scores. Returns an absent value if there is none.
Expr score_bias(CompositeCx& cx, const Heads& h, std::size_t mask, std::string name, std::size_t bias, bool causal,
                double filter, bool starts) {
  const Elem elem = h.q.type().elem;
  Expr sum = cx.builder().absent();
  if (cx.has(mask)) {
    const Expr keep = kept_by_mask(cx, mask, std::move(name), h, starts);
    if (!keep) return keep;
    sum = penalty(cx, keep, elem, filter);
  }
  if (causal) {
    Expr last = Unsqueeze({iota(cx, extent_scalar(h.q, 2)), cx.ints({1})});
    if (h.past) last = Add(last, h.past);
    const Expr keep = LessOrEqual(iota(cx, Squeeze({total_steps(h), cx.ints({0})})), last);
    sum = sum_of(sum, penalty(cx, keep, elem, std::numeric_limits<float>::lowest()));
  }
  if (cx.has(bias)) {
    const Expr shape = join_shape({extent(h.q, 0), extent(h.q, 1), extent(h.q, 2), total_steps(h)});
    sum = sum_of(sum, widened(Fit({cx.in(bias), shape}, {.name = "attention_bias", .broadcasts = 1})));
  }
  return sum;
}

struct Attended {
  Expr y, scores;
};
Attended attend(const Heads& h, Expr bias, std::optional<float> scale, bool scores) {
  AttentionAttrs a;
  if (scale && *scale != 0) a.scale = scale;
  a.qk_matmul_output_mode = 2;
  const auto out = ops::Attention.call({h.q, h.k, h.v, bias}, a, scores ? 4 : 1);
  return {join_heads(out[0]), out.back()};
}

/// Prepends the cached K and V.
void prepend(Heads& h, Expr key, Expr value) {
  h.past = extent(key, 2);
  h.k = Concat({widened(key), h.k}, {.axis = 2});
  h.v = Concat({widened(value), h.v}, {.axis = 2});
}

/// Splits a projection into Q, K and V.
std::optional<std::vector<Expr>> three_parts(CompositeCx& cx, Expr all, const Ints& sizes) {
  if (!sizes.empty() && sizes.size() != 3) {
    cx.error("qkv_hidden_sizes needs 3 entries, got {}", sizes.size());
    return std::nullopt;
  }
  if (!sizes.empty()) return Split.call({all, cx.ints(sizes)}, {.axis = 2, .num_outputs = {}}, 3);
  const Expr thirds = SplitAxis({all}, {.axis = 2, .outer = 3});
  return std::vector{pick(cx, thirds, 2, 0), pick(cx, thirds, 2, 1), pick(cx, thirds, 2, 2)};
}

bool is_supported_attention(CompositeCx& cx) {
  const auto& a = cx.attrs<FusedAttentionAttrs>();
  return has_rank(cx, 0, 3) && has_rank(cx, 1, 2) && positive_heads(cx, a.num_heads) &&
         left_out(cx, "do_rotary", a.do_rotary == 0) &&
         left_out(cx, "rotary_embedding_dim", a.rotary_embedding_dim.value_or(0) == 0) &&
         left_out(cx, "past_present_share_buffer", a.past_present_share_buffer == 0);
}

/// The input positions of a self-attention operator.
struct SelfInputs {
  std::size_t mask, past, bias;
};

/// Computes self-attention of a projection [batch, steps, widths of Q, K and V]. The outputs have type `elem`.
void attend_self(CompositeCx& cx, Expr projection, const SelfInputs& at, Elem elem) {
  const auto& a = cx.attrs<FusedAttentionAttrs>();
  const auto parts = three_parts(cx, projection, a.qkv_hidden_sizes);
  if (!parts) return;
  Heads h{split_heads((*parts)[0], a.num_heads), split_heads((*parts)[1], a.num_heads),
          split_heads((*parts)[2], a.num_heads), cx.builder().absent()};
  if (cx.has(at.past)) {
    if (!has_rank(cx, at.past, 5)) return;
    prepend(h, pick(cx, cx.in(at.past), 0, 0), pick(cx, cx.in(at.past), 0, 1));
  }
  const double filter = a.mask_filter_value.value_or(kFilter);
  const Expr bias = score_bias(cx, h, at.mask, "mask_index", at.bias, a.unidirectional != 0, filter, true);
  if (!cx.status()) return;
  cx.out(0, as_elem(attend(h, bias, a.scale, false).y, elem));
  if (cx.output_count() < 2) return;
  const Expr front = cx.ints({0});
  cx.out(1, as_elem(Concat({Unsqueeze({h.k, front}), Unsqueeze({h.v, front})}, {.axis = 0}), elem));
}

}  // namespace

void fused_attention_body(CompositeCx& cx) {
  if (!is_supported_attention(cx) || !input_left_out(cx, 6, "past_sequence_length")) return;
  Expr all = MatMul(widened(cx.in(0)), widened(cx.in(1)));
  if (cx.has(2)) all = Add(all, widened(fit(cx.in(2), "bias", {extent(all, 2)})));
  attend_self(cx, all, {.mask = 3, .past = 4, .bias = 5}, cx.elem(0));
}

void qattention_body(CompositeCx& cx) {
  if (!is_supported_attention(cx)) return;
  const auto input = [&](std::size_t i) { return cx.has(i) ? cx.in(i) : cx.builder().absent(); };
  const std::array in{cx.in(0), cx.in(1), cx.in(3), cx.in(4), input(6), input(7), cx.in(2)};
  const Expr all = widened(MatMulIntegerToFloat(std::span<const Expr>(in)));
  attend_self(cx, all, {.mask = 5, .past = 8, .bias = 9}, cx.elem(2));
}

namespace {

/// Returns one part of a packed input [batch, steps, heads, parts, size].
Expr unpacked(CompositeCx& cx, Expr packed, std::int64_t part) {
  return Transpose({pick(cx, packed, 3, part)}, {.perm = {0, 2, 1, 3}});
}

/// Adds the part of MultiHeadAttention's bias for the last axis of x. Advances `from` to the next part.
Expr with_bias(CompositeCx& cx, Expr x, Expr& from) {
  const Expr to = Add(from, extent(x, 2));
  const Expr part = cut(cx, cx.in(3), 0, from, to);
  from = to;
  return Add(x, widened(fit(part, "bias", {extent(x, 2)})));
}

Expr packed_input(CompositeCx& cx, std::size_t i, std::int64_t heads, std::int64_t parts) {
  const Expr x = cx.in(i);
  return widened(
      fit(x, i == 0 ? "query" : "key", {extent(x, 0), extent(x, 1), int1(cx, heads), int1(cx, parts), extent(x, 4)}));
}

std::optional<Heads> packed_heads(CompositeCx& cx, std::int64_t heads) {
  if (cx.has(3)) {
    cx.unsupported("input bias beside packed inputs is not supported; add it before");
    return std::nullopt;
  }
  const bool all = cx.rank(0) == 5;
  const Expr first = all ? packed_input(cx, 0, heads, 3) : widened(cx.in(0));
  if (all) return Heads{unpacked(cx, first, 0), unpacked(cx, first, 1), unpacked(cx, first, 2), cx.builder().absent()};
  const Expr pair = packed_input(cx, 1, heads, 2);
  return Heads{split_heads(first, heads), unpacked(cx, pair, 0), unpacked(cx, pair, 1), cx.builder().absent()};
}

std::optional<Heads> separate_heads(CompositeCx& cx, std::int64_t heads) {
  if (!has_rank(cx, 0, 3) || (cx.rank(1) != 4 && !has_rank(cx, 1, 3)) || !has_rank(cx, 2, cx.rank(1))) {
    return std::nullopt;
  }
  Heads h{widened(cx.in(0)), widened(cx.in(1)), widened(cx.in(2)), cx.builder().absent()};
  const bool ready = cx.rank(1) == 4;  // cross attention: K and V have the layout of a cache
  if (cx.has(3)) {
    Expr at = int1(cx, 0);
    h.q = with_bias(cx, h.q, at);
    if (!ready) h.k = with_bias(cx, h.k, at);
    if (!ready) h.v = with_bias(cx, h.v, at);
  }
  h.q = split_heads(h.q, heads);
  if (!ready) h.k = split_heads(h.k, heads);
  if (!ready) h.v = split_heads(h.v, heads);
  return h;
}

std::optional<Heads> given_heads(CompositeCx& cx, std::int64_t heads) {
  if (!positive_heads(cx, heads)) return std::nullopt;
  if (!input_left_out(cx, 8, "past_sequence_length") || !input_left_out(cx, 9, "cache_indirection")) {
    return std::nullopt;
  }
  const bool packed = cx.rank(0) == 5 || (cx.has(1) && cx.rank(1) == 5);
  const std::size_t needed = cx.rank(0) == 5 ? 0 : packed ? 1 : 2;
  if (cx.has(1) != (needed > 0) || cx.has(2) != (needed > 1)) {
    cx.error("query of {} axes needs {} of key and value", cx.rank(0),
             needed == 0   ? "none"
             : needed == 1 ? "key"
                           : "both");
    return std::nullopt;
  }
  return packed ? packed_heads(cx, heads) : separate_heads(cx, heads);
}

}  // namespace

void multi_head_body(CompositeCx& cx) {
  const auto& a = cx.attrs<MultiHeadAttrs>();
  auto h = given_heads(cx, a.num_heads);
  if (!h) return;
  if (cx.has(6) != cx.has(7)) return cx.error("past_key and past_value are given together or not at all");
  if (cx.has(6)) {
    if (!has_rank(cx, 6, 4) || !has_rank(cx, 7, 4)) return;
    prepend(*h, cx.in(6), cx.in(7));
  }
  const double filter = a.mask_filter_value.value_or(kFilter);
  const Expr bias = score_bias(cx, *h, 4, "key_padding_mask", 5, a.unidirectional != 0, filter, false);
  if (!cx.status()) return;
  const Elem elem = cx.elem(0);
  const Attended out = attend(*h, bias, a.scale, cx.output_count() > 3);
  cx.out(0, as_elem(out.y, elem));
  if (cx.output_count() > 1) cx.out(1, as_elem(h->k, elem));
  if (cx.output_count() > 2) cx.out(2, as_elem(h->v, elem));
  if (cx.output_count() > 3) cx.out(3, as_elem(out.scores, elem));
}

// ---- rotary embedding ----

namespace {

bool rotates_all(Expr x, Expr cosines) {
  if (!x || !cosines || x.type().rank() != 4 || cosines.type().rank() != 2) return false;
  const Dim size = x.type().shape[3], half = cosines.type().shape[1];
  return size.is_const() && half.is_const() && size.value() == 2 * half.value();
}

}  // namespace

Expr rotated(CompositeCx& cx, Expr x, Expr cosines, Expr sines, Expr places, bool interleaved) {
  const Expr limit = extent(cosines, 0);
  const Expr angle = in_range(places, "position_ids", int1(cx, 0), limit);
  const Expr half = extent(cosines, 1), size = Add(half, half);
  const Expr fitting = fit(sines, "sin_cache", {limit, half});
  const Expr turned =
      fit(cut(cx, x, 3, int1(cx, 0), size), "cos_cache", {extent(x, 0), extent(x, 1), extent(x, 2), size});
  const Expr y = ops::RotaryEmbedding({turned, cosines, fitting, angle}, {.interleaved = interleaved ? 1 : 0});
  return rotates_all(x, cosines) ? y : Concat({y, cut(cx, x, 3, size, extent(x, 3))}, {.axis = 3});
}

namespace {

/// Splits [batch, steps, hidden] into heads. Without a number of heads, the caches determine the size of a head.
Expr rotary_heads(CompositeCx& cx, Expr x, std::int64_t heads, Expr half) {
  if (heads > 0) return split_heads(x, heads);
  const Expr size = Add(half, half);
  const Expr parts = Reshape({x, join_shape({extent(x, 0), extent(x, 1), int1(cx, -1), size})});
  return Transpose({parts}, {.perm = {0, 2, 1, 3}});
}

}  // namespace

void rotary_embedding_body(CompositeCx& cx) {
  const auto& a = cx.attrs<RotaryAttrs>();
  const bool flat = cx.rank(0) == 3;
  if ((!flat && !has_rank(cx, 0, 4)) || !has_rank(cx, 2, 2) || !has_rank(cx, 3, 2)) return;
  if (a.num_heads < 0) return cx.error("num_heads {} is negative", a.num_heads);
  if (a.rotary_embedding_dim < 0 || a.rotary_embedding_dim % 2 != 0) {
    return cx.error("rotary_embedding_dim {} is not even", a.rotary_embedding_dim);
  }
  if (a.rotary_embedding_dim > 0 && a.num_heads == 0) {
    return cx.error("rotary_embedding_dim needs num_heads");
  }
  if (!left_out(cx, "scale", a.scale == 1)) return;
  const Expr half = extent(cx.in(2), 1), given = cx.in(1);
  Expr cosines = cx.in(2);
  if (a.rotary_embedding_dim > 0) {
    cosines = fit(cosines, "cos_cache", {extent(cosines, 0), int1(cx, a.rotary_embedding_dim / 2)});
  }
  const Expr x = flat ? rotary_heads(cx, cx.in(0), a.num_heads, half) : cx.in(0);
  const Expr batch = extent(x, 0), steps = extent(x, 2);
  Expr places = given;
  if (cx.rank(1) < 2) {
    const Expr from = Reshape({given, cx.ints({1})});
    places = Expand({Add(from, iota(cx, extent_scalar(x, 2))), join_shape({batch, steps})});
  } else {
    places = fit(given, "position_ids", {batch, steps});
  }
  const Expr y = rotated(cx, widened(x), widened(cosines), widened(cx.in(3)), places, a.interleaved != 0);
  cx.out(0, as_elem(flat ? join_heads(y) : y, cx.elem(0)));
}

}  // namespace frazil::ops::microsoft
