#include "ops/microsoft/beams.h"

#include <algorithm>
#include <cmath>

#include "base/thread/poll_throttle.h"
#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/index/index.h"
#include "ops/view/view.h"

namespace frazil::ops::microsoft {
namespace {

constexpr std::int64_t kMostSteps = 4096;
/// The sum of all beams but an item's first one before the first step, so that they do not repeat its candidates.
constexpr double kUnusedBeam = -1e9;

Expr length_penalty_of(CompositeCx& cx, std::size_t i) {
  return cx.has(i) ? Reshape({as_f32(cx.in(i)), cx.ints({})}) : cx.number(Elem::f32, 1);
}

}  // namespace

void beam_start_body(CompositeCx& cx) {
  if (cx.rank(0) == 0) return cx.error("input 'input_ids' must have at least one axis");
  const Expr items = extent(cx.in(0), 0), beams = beam_count(cx, 1);
  const Expr length = length_limit(cx, 2, int1(cx, 1));
  const Expr place = iota(cx, Squeeze({beams, cx.ints({0})})), shape = join_shape({items, beams});
  const Expr first = Equal(place, cx.number(Elem::i64, 0));
  cx.out(0, Expand({Where(first, cx.number(Elem::f32, 0), cx.number(Elem::f32, kUnusedBeam)), shape}));
  cx.out(1, Expand({cx.builder().scalar(false), items}));
  cx.out(2, Expand({cx.number(Elem::i64, 0), items}));
  cx.out(3, Expand({cx.number(Elem::f32, 0), shape}));
  const Expr pad = cx.number(Elem::i32, static_cast<double>(cx.attrs<BeamStartAttrs>().pad_token_id));
  cx.out(4, Expand({pad, join_shape({items, beams, length})}));
}

void beam_step_body(CompositeCx& cx) {
  if (!has_rank(cx, 0, 2) || !has_rank(cx, 1, 2) || !has_rank(cx, 2, 2)) return;
  const Expr scores = cx.in(0), sums = cx.in(1), items = extent(sums, 0), beams = extent(sums, 1);
  const Expr vocabulary = extent(scores, 1), rows_of = extent(cx.in(2), 0);
  const Expr by_row = Reshape({sums, join_shape({rows_of, int1(cx, 1)})});
  const Expr total = Add(fit(scores, "scores", {rows_of, vocabulary}), by_row);
  const Expr flat = Reshape({total, join_shape({items, Mul(beams, vocabulary)})});
  const auto best = TopK.call({flat, Mul(beams, int1(cx, 2))}, {.axis = 1}, 2);
  const Expr tokens = Mod({best[1], vocabulary}), from = Div(best[1], vocabulary);
  const auto next =
      BeamRank.call({best[0], tokens, from, cx.in(2), cx.in(3), cx.in(4), cx.in(5), cx.in(6), length_penalty_of(cx, 7)},
                    cx.attrs<BeamRankAttrs>(), 7);
  const Expr parents = Reshape({next[2], rows_of}), column = Reshape({next[1], join_shape({rows_of, int1(cx, 1)})});
  cx.out(0, next[0]);
  cx.out(1, Concat({Gather({cx.in(2), parents}, {.axis = 0}), column}, {.axis = 1}));
  for (std::size_t i = 0; i < 4; ++i) cx.out(2 + i, next[3 + i]);
  cx.out(6, column);
  cx.out(7, parents);
  cx.out(8, ReduceMax({Not(next[3]), cx.ints({0})}, {.keepdims = 0}));
  if (cx.output_count() > 9) cx.out(9, total);
}

void beam_end_body(CompositeCx& cx) {
  if (!has_rank(cx, 1, 2)) return;
  const Expr wanted = Reshape({as_elem(cx.in(6), Elem::i64), cx.ints({1})});
  const Expr end = Add(extent(cx.in(1), 1), int1(cx, 1));
  const Expr count = in_range(wanted, "num_return_sequences", int1(cx, 1), end);
  const auto best =
      BeamResult.call({cx.in(0), cx.in(1), cx.in(2), cx.in(3), cx.in(4), cx.in(5), length_penalty_of(cx, 7), count},
                      cx.attrs<BeamStartAttrs>(), cx.output_count());
  for (std::size_t i = 0; i < best.size(); ++i) cx.out(i, best[i]);
}

void step_scores_body(CompositeCx& cx) {
  if (!has_rank(cx, 0, 3)) return;
  const Expr scores = cx.in(0), beams = beam_count(cx, 2), taken = extent(scores, 0);
  const Expr steps = in_range(Reshape({cx.in(1), cx.ints({1})}), "steps", taken, int1(cx, kMostSteps + 1));
  const Expr missing = Sub(steps, taken);
  const Expr padded = ops::Pad({scores, join_shape({int1(cx, 0), missing}), cx.number(Elem::f32, 0), cx.ints({0})});
  const Expr items = Div(extent(scores, 1), beams);
  cx.out(0, Reshape({padded, join_shape({steps, items, beams, extent(scores, 2)})}));
}

// ---- the operators ----

namespace {

/// The inputs of BeamRank that make up the state of a search.
constexpr std::size_t kRankSequences = 3, kRankDone = 4, kRankKept = 5, kRankScores = 6, kRankTokens = 7;

/// The ended sequences of a batch item, best first.
class KeptBeams {
 public:
  KeptBeams(std::int64_t most, std::int64_t length, float penalty, std::int64_t& used, float* scores,
            std::int32_t* tokens)
      : most_(most), length_(length), penalty_(penalty), used_(used), scores_(scores), tokens_(tokens) {}

  bool full() const { return used_ == most_; }
  float score_of(float sum, std::int64_t length) const { return sum / std::pow(static_cast<float>(length), penalty_); }
  /// Adds a sequence unless all kept ones are better. The places after its end keep the padding.
  void add(std::span<const std::int32_t> sequence, float sum, std::int32_t pad) {
    const float score = score_of(sum, std::ssize(sequence));
    std::int64_t place = full() ? most_ - 1 : used_;
    if (full() && !(score > scores_[place])) return;
    if (!full()) ++used_;
    for (; place > 0 && score > scores_[place - 1]; --place) {
      scores_[place] = scores_[place - 1];
      std::copy_n(row(place - 1), length_, row(place));
    }
    scores_[place] = score;
    std::ranges::copy(sequence, row(place));
    std::fill(row(place) + std::ssize(sequence), row(place) + length_, pad);
  }
  bool can_improve(float best_sum, std::int64_t length) const {
    return scores_[most_ - 1] < score_of(best_sum, length);
  }

 private:
  std::int32_t* row(std::int64_t i) const { return tokens_ + i * length_; }

  std::int64_t most_, length_;
  float penalty_;
  std::int64_t& used_;
  float* scores_;
  std::int32_t* tokens_;
};

/// The extents of a search. `length` is that of the sequences so far, `most` that of the longest ones.
struct BeamSizes {
  std::int64_t items, beams, most, length;
};

/// Requires the shapes of a search's state to agree. Inputs [first, first + 4) are done, kept, kept_scores and
/// kept_sequences.
Status require_beam_state(InferCx& cx, std::size_t sequences, std::size_t first) {
  const std::array<std::size_t, 4> ranks{1, 1, 2, 3};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (cx.rank(first + i) == ranks[i]) continue;
    return cx.error("input '{}' must have {} axes, got {}", cx.port_name(first + i), ranks[i], cx.type_str(first + i));
  }
  if (cx.rank(sequences) != 2) return cx.error("input 'sequences' must have 2 axes, got {}", cx.type_str(sequences));
  const Shape state = cx.shape(first + 3);
  FRAZIL_CHECK(cx.require_equal(cx.shape(first)[0], state[0], "items of 'done'"));
  FRAZIL_CHECK(cx.require_equal(cx.shape(first + 1)[0], state[0], "items of 'kept'"));
  FRAZIL_CHECK(cx.require_equal(cx.shape(first + 2)[0], state[0], "items of 'kept_scores'"));
  FRAZIL_CHECK(cx.require_equal(cx.shape(first + 2)[1], state[1], "beams of 'kept_scores'"));
  FRAZIL_CHECK(cx.require_equal(cx.shape(sequences)[0], cx.scope().mul(state[0], state[1]), "rows of 'sequences'"));
  return {};
}

Status require_penalty(InferCx& cx, std::size_t i) {
  FRAZIL_CHECK(cx.require_equal(product(cx.scope(), cx.shape(i)), 1, "element count of 'length_penalty'"));
  return {};
}

Result<BeamSizes> beam_sizes(const OpaqueCall& call, std::size_t sequences, std::size_t first) {
  const TensorView kept = call.in(first + 3);
  const BeamSizes sizes{kept.sizes[0], kept.sizes[1], kept.sizes[2], call.in(sequences).sizes[1]};
  if (sizes.length > sizes.most) {
    return fail(Code::bad_input, "sequences of {} tokens exceed the limit of {}", sizes.length, sizes.most);
  }
  for (const std::int64_t count : call.in(first + 1).as<std::int64_t>()) {
    if (count < 0 || count > sizes.beams) {
      return fail(Code::bad_input, "kept: expected a count from 0 to {}, got {}", sizes.beams, count);
    }
  }
  return sizes;
}

template <class T>
Result<T*> output_of(OpaqueCall& call, std::size_t i, std::initializer_list<std::int64_t> sizes) {
  FRAZIL_TRY(std::byte* const memory, call.out(i, std::span(sizes.begin(), sizes.size())));
  return reinterpret_cast<T*>(memory);
}

/// Copies input `from` to output `to` and returns the copy.
template <class T>
Result<T*> copied_input(OpaqueCall& call, std::size_t from, std::size_t to) {
  const TensorView x = call.in(from);
  FRAZIL_TRY(std::byte* const memory, call.out(to, x.sizes));
  T* const y = reinterpret_cast<T*>(memory);
  std::ranges::copy(x.as<T>(), y);
  return y;
}

/// One step of a search: the candidates, and memory for the results.
struct RankStep {
  BeamSizes sizes;
  std::int64_t candidates;
  std::span<const float> scores;
  std::span<const std::int64_t> tokens, beams;
  std::span<const std::int32_t> sequences;
  float penalty;
  float* sums = nullptr;
  std::int32_t* next_tokens = nullptr;
  std::int64_t* parents = nullptr;
  bool* done = nullptr;
  std::int64_t* kept = nullptr;
  float* kept_scores = nullptr;
  std::int32_t* kept_tokens = nullptr;

  std::span<const std::int32_t> row(std::int64_t i) const {
    return sequences.subspan(static_cast<std::size_t>(i * sizes.length), static_cast<std::size_t>(sizes.length));
  }
  KeptBeams kept_of(std::int64_t item) const {
    return {sizes.beams,
            sizes.most,
            penalty,
            kept[item],
            kept_scores + item * sizes.beams,
            kept_tokens + item * sizes.beams * sizes.most};
  }
  void put(std::int64_t item, std::int64_t beam, float sum, std::int32_t token, std::int64_t parent) const {
    const std::int64_t at = item * sizes.beams + beam;
    sums[at] = sum;
    next_tokens[at] = token;
    parents[at] = parent;
  }
};

/// Divides the candidates of one item. Only candidates among the first `beams` end a sequence.
Status rank_item(const RankStep& step, std::int64_t item, const BeamRankAttrs& a) {
  const auto pad = static_cast<std::int32_t>(a.pad_token_id);
  const std::int64_t beams = step.sizes.beams;
  if (step.done[item]) {
    for (std::int64_t k = 0; k < beams; ++k) step.put(item, k, 0, pad, 0);
    return {};
  }
  KeptBeams kept = step.kept_of(item);
  std::int64_t filled = 0;
  for (std::int64_t j = 0; j < step.candidates && filled < beams; ++j) {
    const auto at = static_cast<std::size_t>(item * step.candidates + j);
    const std::int64_t token = step.tokens[at], beam = step.beams[at];
    if (beam < 0 || beam >= beams) {
      return fail(Code::bad_input, "beams: expected an index from 0 to {}, got {}", beams - 1, beam);
    }
    const std::int64_t parent = item * beams + beam;
    if (token != a.eos_token_id) {
      step.put(item, filled++, step.scores[at], static_cast<std::int32_t>(token), parent);
    } else if (j < beams) {
      kept.add(step.row(parent), step.scores[at], pad);
    }
  }
  if (filled < beams) {
    return fail(Code::bad_input, "scores: {} candidates do not fill {} beams", step.candidates, beams);
  }
  if (!kept.full()) return {};
  // ONNX Runtime compares with candidates from item * beams on, some of which belong to earlier items. So does this.
  const auto best = step.scores.subspan(static_cast<std::size_t>(item * beams), static_cast<std::size_t>(2 * beams));
  step.done[item] = a.early_stopping != 0 || !kept.can_improve(*std::ranges::max_element(best), step.sizes.length);
  return {};
}

}  // namespace

Status beam_rank_types(InferCx& cx) {
  FRAZIL_CHECK(require_beam_state(cx, kRankSequences, kRankDone));
  FRAZIL_CHECK(require_penalty(cx, 8));
  for (const std::size_t i : {0, 1, 2}) {
    if (cx.rank(i) != 2) return cx.error("input '{}' must have 2 axes, got {}", cx.port_name(i), cx.type_str(i));
    FRAZIL_CHECK(cx.require_equal(cx.shape(i)[0], cx.shape(kRankTokens)[0], "items of the candidates"));
    FRAZIL_CHECK(cx.require_equal(cx.shape(i)[1], cx.shape(0)[1], "number of candidates"));
  }
  const Shape beams{cx.shape(kRankScores)[0], cx.shape(kRankScores)[1]};
  FRAZIL_CHECK(cx.require_equal(cx.shape(0)[1], cx.scope().mul(beams[1], 2), "number of candidates"));
  cx.out(0, Type::tensor(Elem::f32, beams));
  cx.out(1, Type::tensor(Elem::i32, beams));
  cx.out(2, Type::tensor(Elem::i64, beams));
  for (std::size_t i = 0; i < 4; ++i) cx.out(3 + i, Type::tensor(cx.elem(kRankDone + i), cx.shape(kRankDone + i)));
  return {};
}

Status beam_rank_run(OpaqueCall& call) {
  const auto& a = call.attrs<BeamRankAttrs>();
  FRAZIL_TRY(const BeamSizes sizes, beam_sizes(call, kRankSequences, kRankDone));
  RankStep step{.sizes = sizes,
                .candidates = call.in(0).sizes[1],
                .scores = call.in(0).as<float>(),
                .tokens = call.in(1).as<std::int64_t>(),
                .beams = call.in(2).as<std::int64_t>(),
                .sequences = call.in(kRankSequences).as<std::int32_t>(),
                .penalty = call.in(8).as<float>()[0]};
  FRAZIL_TRY(step.sums, output_of<float>(call, 0, {sizes.items, sizes.beams}));
  FRAZIL_TRY(step.next_tokens, output_of<std::int32_t>(call, 1, {sizes.items, sizes.beams}));
  FRAZIL_TRY(step.parents, output_of<std::int64_t>(call, 2, {sizes.items, sizes.beams}));
  FRAZIL_TRY(step.done, copied_input<bool>(call, kRankDone, 3));
  FRAZIL_TRY(step.kept, copied_input<std::int64_t>(call, kRankKept, 4));
  FRAZIL_TRY(step.kept_scores, copied_input<float>(call, kRankScores, 5));
  FRAZIL_TRY(step.kept_tokens, copied_input<std::int32_t>(call, kRankTokens, 6));
  PollThrottle throttle;
  for (std::int64_t item = 0; item < sizes.items && !throttle.stop(step.candidates + sizes.length); ++item) {
    FRAZIL_CHECK(rank_item(step, item, a));
  }
  return {};
}

namespace {

constexpr std::size_t kResultDone = 2;

}  // namespace

Status beam_result_types(InferCx& cx) {
  FRAZIL_CHECK(require_beam_state(cx, 0, kResultDone));
  FRAZIL_CHECK(require_penalty(cx, 6));
  if (cx.rank(1) != 2) return cx.error("input 'sums' must have 2 axes, got {}", cx.type_str(1));
  const Shape state = cx.shape(kResultDone + 3);
  FRAZIL_CHECK(cx.require_equal(cx.shape(1)[0], state[0], "items of 'sums'"));
  FRAZIL_CHECK(cx.require_equal(cx.shape(1)[1], state[1], "beams of 'sums'"));
  FRAZIL_CHECK(cx.require_equal(product(cx.scope(), cx.shape(7)), 1, "element count of 'count'"));
  FRAZIL_TRY(const std::vector<Dim> count, cx.ints(7, 1));
  cx.out(0, Type::tensor(Elem::i32, {state[0], count[0], state[2]}));
  if (cx.wants(1)) cx.out(1, Type::tensor(Elem::f32, {state[0], count[0]}));
  return {};
}

namespace {

/// The kept sequences of one item, in memory of the call, completed by its beams unless it is done.
struct ItemResult {
  BeamSizes sizes;
  float* scores;
  std::int32_t* tokens;

  void fill(const OpaqueCall& call, std::int64_t item) const {
    const auto at = static_cast<std::size_t>(item);
    std::int64_t used = call.in(kResultDone + 1).integer(item);
    const std::int64_t most = sizes.beams * sizes.most;
    std::copy_n(call.in(kResultDone + 2).as<float>().data() + item * sizes.beams, sizes.beams, scores);
    std::copy_n(call.in(kResultDone + 3).as<std::int32_t>().data() + item * most, most, tokens);
    if (call.in(kResultDone).as<bool>()[at]) return;
    KeptBeams kept(sizes.beams, sizes.most, call.in(6).as<float>()[0], used, scores, tokens);
    const auto pad = static_cast<std::int32_t>(call.attrs<BeamStartAttrs>().pad_token_id);
    const auto length = static_cast<std::size_t>(sizes.length), beams = static_cast<std::size_t>(sizes.beams);
    for (std::size_t row = at * beams; row < (at + 1) * beams; ++row) {
      kept.add(call.in(0).as<std::int32_t>().subspan(row * length, length), call.in(1).as<float>()[row], pad);
    }
  }
};

}  // namespace

Status beam_result_run(OpaqueCall& call) {
  FRAZIL_TRY(const BeamSizes sizes, beam_sizes(call, 0, kResultDone));
  const std::int64_t count = call.in(7).integer(0), most = sizes.beams * sizes.most;
  if (count < 0 || count > sizes.beams) {
    return fail(Code::bad_input, "count: expected a number from 0 to {}, got {}", sizes.beams, count);
  }
  FRAZIL_TRY(auto* const best, output_of<std::int32_t>(call, 0, {sizes.items, count, sizes.most}));
  float* best_scores = nullptr;
  if (call.wants(1)) {
    FRAZIL_TRY(best_scores, output_of<float>(call, 1, {sizes.items, count}));
  }
  FRAZIL_TRY(std::byte* const memory, call.scratch(static_cast<std::size_t>(sizes.beams + most) * sizeof(float)));
  auto* const scores = reinterpret_cast<float*>(memory);
  const ItemResult result{sizes, scores, reinterpret_cast<std::int32_t*>(scores + sizes.beams)};
  PollThrottle throttle;
  for (std::int64_t item = 0; item < sizes.items && !throttle.stop(most); ++item) {
    result.fill(call, item);
    std::copy_n(result.tokens, count * sizes.most, best + item * count * sizes.most);
    if (best_scores != nullptr) std::copy_n(scores, count, best_scores + item * count);
  }
  return {};
}

}  // namespace frazil::ops::microsoft
