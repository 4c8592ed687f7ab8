#include "ops/microsoft/decoding.h"

#include <algorithm>
#include <limits>

#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/index/cumulative.h"
#include "ops/index/index.h"
#include "ops/microsoft/position.h"
#include "ops/nn/norm.h"
#include "ops/random/random.h"
#include "ops/view/view.h"

namespace frazil::ops::microsoft {
namespace {

constexpr auto kLowestScore = static_cast<double>(std::numeric_limits<float>::lowest());
constexpr std::int64_t kMostLength = 4096, kMostBeams = 128;

/// Returns an integer of one element as a 1-D i64 tensor.
Expr decoding_integer(CompositeCx& cx, std::size_t i) { return Reshape({as_elem(cx.in(i), Elem::i64), cx.ints({1})}); }

Expr scalar_of_single(CompositeCx& cx, Expr single) { return Squeeze({single, cx.ints({0})}); }

Expr f32_number(CompositeCx& cx, double x) { return cx.number(Elem::f32, x); }

/// Returns the token numbers, checked to be below the number of scores.
Expr valid_tokens(CompositeCx& cx, Expr tokens, Expr scores) {
  return in_range(tokens, "token", int1(cx, 0), extent(scores, 1));
}

}  // namespace

namespace {

/// Returns the only element of an integer tensor if it is known when the graph is built.
std::optional<std::int64_t> known_integer(CompositeCx& cx, Expr x) {
  const std::vector<Dim>* known = x ? cx.builder().graph().known_value(x.value) : nullptr;
  if (known == nullptr || known->size() != 1 || !(*known)[0].is_const()) return std::nullopt;
  return (*known)[0].value();
}

/// Returns input i, checked to be in [low, most]. A number that is known to be valid stays known.
Expr checked_integer(CompositeCx& cx, std::size_t i, std::string name, Expr low, std::int64_t most) {
  const Expr number = decoding_integer(cx, i);
  const auto known = known_integer(cx, number), least = known_integer(cx, low);
  if (known && least && *least <= *known && *known <= most) return number;
  return in_range(number, std::move(name), low, int1(cx, most + 1));
}

}  // namespace

Expr length_limit(CompositeCx& cx, std::size_t i, Expr least) {
  return checked_integer(cx, i, "max_length", least, kMostLength);
}

Expr beam_count(CompositeCx& cx, std::size_t i) { return checked_integer(cx, i, "num_beams", int1(cx, 1), kMostBeams); }

void repeat_rows_body(CompositeCx& cx) {
  const Expr x = cx.in(0);
  if (cx.rank(0) == 0) return cx.error("input 'data' must have at least one axis");
  std::vector<Expr> shape{extent(x, 0), beam_count(cx, 1)};
  for (std::size_t i = 1; i < cx.rank(0); ++i) shape.push_back(extent(x, static_cast<std::int64_t>(i)));
  const Expr wide = Expand({Unsqueeze({x, cx.ints({1})}), Concat(std::span<const Expr>(shape), {.axis = 0})});
  cx.out(0, MergeAxes({wide}, {.axis = 0, .count = 2}));
}

void prompt_inputs_body(CompositeCx& cx) {
  const auto& a = cx.attrs<PromptInputsAttrs>();
  if (!has_rank(cx, 0, 2)) return;
  const Expr ids = cx.in(0), none = cx.number(Elem::i32, 0), columns = cx.number(Elem::i64, 1);
  const Expr is_token = Not(Equal(ids, cx.number(Elem::i32, static_cast<double>(a.pad_token_id))));
  const Expr token = as_elem(is_token, Elem::i32), count = CumSum({token, columns});
  if (cx.has(1)) {
    cx.out(0, fit(cx.in(1), "attention_mask", {extent(ids, 0), extent(ids, 1)}));
  } else {
    cx.out(0, a.leading != 0 ? as_elem(Greater(count, none), Elem::i32) : token);
  }
  if (cx.output_count() > 1) cx.out(1, Where(is_token, Sub(count, cx.number(Elem::i32, 1)), none));
  if (cx.output_count() > 2) cx.out(2, ReduceSum({token, int1(cx, 1)}));
}

void next_inputs_body(CompositeCx& cx) {
  if (!has_rank(cx, 0, 2)) return;
  const Expr mask = cx.in(0), seen = cx.number(Elem::i32, 1);
  const Expr added = Expand({seen, join_shape({extent(mask, 0), int1(cx, 1)})});
  cx.out(0, Concat({mask, added}, {.axis = 1}));
  cx.out(1, Add(fit(cx.in(1), "position", {extent(mask, 0), int1(cx, 1)}), seen));
}

void step_count_body(CompositeCx& cx) {
  if (!has_rank(cx, 1, 2)) return;
  const Expr prompt = extent(cx.in(1), 1), more = Add(prompt, int1(cx, 1));
  cx.out(0, scalar_of_single(cx, Sub(length_limit(cx, 0, more), prompt)));
}

// ---- scores of the next token ----

namespace {

/// Returns the scores with those of tokens that a row contains divided by the penalty; multiplied if they are negative.
Expr penalise_repetition(CompositeCx& cx, Expr scores) {
  const Expr tokens = valid_tokens(cx, cx.in(1), scores), absent = cx.number(Elem::i32, 0);
  const Expr zeros = Expand({absent, ShapeOf({scores})});
  const Expr ones = Expand({cx.number(Elem::i32, 1), ShapeOf({tokens})});
  const Expr contained = ScatterElements({zeros, tokens, ones}, {.axis = 1});
  const Expr penalty = Reshape({as_f32(cx.in(3)), cx.ints({})});
  const Expr changed = Where(Less(scores, f32_number(cx, 0)), Mul(scores, penalty), Div(scores, penalty));
  return Where(Equal(contained, absent), scores, changed);
}

Expr exclude_repeated(CompositeCx& cx, Expr scores, std::int64_t size) {
  const Expr zeros = Expand({f32_number(cx, 0), ShapeOf({scores})});
  const Expr marked = NGramRepeatBlock({as_elem(cx.in(1), Elem::i64), zeros}, {.ngram_size = size});
  return Where(Less(marked, f32_number(cx, 0)), f32_number(cx, kLowestScore), scores);
}

/// Returns the scores with the lowest number where the mask is zero and `applies` holds, if given.
Expr hide_masked(CompositeCx& cx, Expr scores, Expr mask, std::optional<Expr> applies = {}) {
  Expr hidden = Equal(mask, cx.number(Elem::i32, 0));
  if (applies) hidden = And(hidden, *applies);
  return Where(hidden, f32_number(cx, kLowestScore), scores);
}

Expr with_min_length(CompositeCx& cx, Expr scores) {
  const auto eos = static_cast<double>(cx.attrs<TokenScoresAttrs>().eos_token_id);
  const Expr is_end = Equal(iota(cx, extent_scalar(scores, 1)), cx.number(Elem::i64, eos));
  const Expr is_short = Less(extent(cx.in(1), 1), decoding_integer(cx, 6));
  return Where(And(is_end, is_short), f32_number(cx, kLowestScore), scores);
}

/// Returns the logits of the last step.
Expr last_logits(CompositeCx& cx) {
  const Expr logits = as_f32(cx.in(0));
  const Expr all = fit(logits, "logits", {extent(cx.in(1), 0), extent(logits, 1), extent(logits, 2)});
  const Expr end = int1(cx, std::numeric_limits<std::int32_t>::max());
  return Squeeze({cut(cx, all, 1, int1(cx, -1), end), cx.ints({1})});
}

}  // namespace

void token_scores_body(CompositeCx& cx) {
  const auto& a = cx.attrs<TokenScoresAttrs>();
  if (!has_rank(cx, 0, 3) || !has_rank(cx, 1, 2)) return;
  Expr scores = last_logits(cx);
  const Expr rows_of = extent(scores, 0), vocabulary = extent(scores, 1);
  if (a.log_softmax != 0) scores = LogSoftmax({scores}, {.axis = 1});
  if (cx.has(3)) scores = penalise_repetition(cx, scores);
  if (a.no_repeat_ngram_size > 0) scores = exclude_repeated(cx, scores, a.no_repeat_ngram_size);
  if (cx.has(4)) scores = hide_masked(cx, scores, fit(cx.in(4), "vocab_mask", {vocabulary}));
  if (cx.has(5)) {
    const Expr first = Equal(cx.in(2), cx.number(Elem::i64, 0));
    scores = hide_masked(cx, scores, fit(cx.in(5), "prefix_vocab_mask", {rows_of, vocabulary}), first);
  }
  if (cx.has(6)) scores = with_min_length(cx, scores);
  if (cx.has(8)) scores = Div(scores, Reshape({as_f32(cx.in(8)), cx.ints({})}));
  if (cx.has(7) && a.presence_penalty != 0) {
    const Expr present = as_f32(fit(cx.in(7), "presence_mask", {rows_of, vocabulary}));
    scores = Sub(scores, Mul(present, f32_number(cx, static_cast<double>(a.presence_penalty))));
  }
  cx.out(0, scores);
}

// ---- the next token ----

void sampled_tokens_body(CompositeCx& cx) {
  const auto& a = cx.attrs<SampledTokensAttrs>();
  if (!has_rank(cx, 0, 2)) return;
  const Expr scores = cx.in(0), count = extent(scores, 1), places = iota(cx, extent_scalar(scores, 1));
  const auto sorted = TopK.call({scores, count}, {.axis = 1, .largest = a.custom != 0 ? 1 : 0}, 2);
  const Expr sum = CumSum({Softmax({sorted[0]}, {.axis = 1}), cx.number(Elem::i64, 1)});
  Expr removed;
  if (a.custom != 0) {
    // The token whose sum exceeds top_p is kept, and those after it are not.
    const Expr none = Expand({f32_number(cx, 0), join_shape({extent(scores, 0), int1(cx, 1)})});
    const Expr before = Concat({none, cut(cx, sum, 1, int1(cx, 0), int1(cx, -1))}, {.axis = 1});
    removed = Greater(before, f32_number(cx, static_cast<double>(a.top_p)));
  } else {
    const Expr end = Sub(count, int1(cx, std::max<std::int64_t>(1, a.min_tokens_to_keep)));
    removed = And(LessOrEqual(sum, f32_number(cx, static_cast<double>(1 - a.top_p))), Less(places, end));
  }
  const Expr kept = Where(removed, f32_number(cx, static_cast<double>(a.filter_value)), sorted[0]);
  const Expr filtered = ScatterElements({scores, sorted[1], kept}, {.axis = 1});
  const Expr rows_of = extent(scores, 0);
  const Expr numbers = cx.has(2) ? UniformOf({rows_of, cx.in(2), cx.in(1)}) : Uniform({rows_of});
  cx.out(0, Squeeze({drawn_classes(cx, filtered, Unsqueeze({numbers, cx.ints({1})})), cx.ints({1})}));
  if (cx.output_count() > 1) cx.out(1, filtered);
}

void append_tokens_body(CompositeCx& cx) {
  const auto& a = cx.attrs<AppendTokensAttrs>();
  if (!has_rank(cx, 0, 1) || !has_rank(cx, 1, 2) || !has_rank(cx, 2, 1)) return;
  const auto token = [&](std::int64_t id) { return cx.number(Elem::i64, static_cast<double>(id)); };
  const Expr ended = Or(cx.in(2), Equal(cx.in(0), token(a.eos_token_id)));
  const Expr tokens = as_elem(Where(ended, token(a.pad_token_id), cx.in(0)), Elem::i32);
  const Expr column = Unsqueeze({tokens, cx.ints({1})});
  cx.out(0, Concat({cx.in(1), column}, {.axis = 1}));
  cx.out(1, ended);
  cx.out(2, column);
  cx.out(3, ReduceMax({Not(ended), cx.ints({0})}, {.keepdims = 0}));
}

void pad_sequences_body(CompositeCx& cx) {
  if (!has_rank(cx, 0, 2)) return;
  const Expr now = extent(cx.in(0), 1), none = int1(cx, 0), length = length_limit(cx, 1, now);
  const Expr missing = Sub(length, now);
  const Expr pad = cx.number(Elem::i32, static_cast<double>(cx.attrs<PadSequencesAttrs>().pad_token_id));
  const Expr padded = ops::Pad({cx.in(0), join_shape({none, missing}), pad, cx.ints({1})});
  cx.out(0, fit(padded, "sequences", {extent(cx.in(0), 0), decoding_integer(cx, 1)}));
}

}  // namespace frazil::ops::microsoft
