#include "ops/microsoft/position.h"

#include <cmath>
#include <limits>

#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "ops/index/index.h"
#include "ops/microsoft/attention.h"
#include "ops/view/view.h"

namespace frazil::ops::microsoft {
namespace {

/// Returns the bucket of a distance that is not negative: half of the buckets hold one distance each, the others grow
/// with the logarithm up to `max_distance`. `count` is the number of buckets, an i64 scalar.
Expr distance_bucket(CompositeCx& cx, Expr distance, Expr count, std::int64_t max_distance) {
  const Expr exact = Div(count, cx.number(Elem::i64, 2)), one_bucket = cx.number(Elem::i64, 1);
  const auto real = [](Expr x) { return as_elem(x, Elem::f32); };
  const Expr longest = cx.number(Elem::f32, static_cast<double>(max_distance));
  const Expr ratio = Div(Log(Div(real(Max2(distance, one_bucket)), real(exact))), Log(Div(longest, real(exact))));
  const Expr steps = as_elem(Mul(ratio, real(Sub(count, exact))), Elem::i64);
  const Expr far = Min2(Add(exact, steps), Sub(count, one_bucket));
  return Where(Less(distance, exact), distance, far);
}

Expr length_input(CompositeCx& cx, std::size_t i) { return Squeeze({Reshape({cx.in(i), cx.ints({1})}), cx.ints({0})}); }

}  // namespace

void relative_bias_body(CompositeCx& cx) {
  const auto& a = cx.attrs<RelativeBiasAttrs>();
  if (!has_rank(cx, 0, 2)) return;
  if (a.max_distance.value_or(0) < 1) return cx.error("max_distance {} is not positive", a.max_distance.value_or(0));
  const Expr query = Unsqueeze({iota(cx, length_input(cx, 1)), cx.ints({1})}), key = iota(cx, length_input(cx, 2));
  const Expr distance = Sub(key, query), none = cx.number(Elem::i64, 0);
  const Expr all = extent_scalar(cx.in(0), 0), half = Div(all, cx.number(Elem::i64, 2));
  Expr bucket;
  if (a.is_bidirectional != 0) {
    const Expr later = Where(Greater(distance, none), half, none);
    bucket = Add(later, distance_bucket(cx, Abs(distance), half, *a.max_distance));
  } else {
    bucket = distance_bucket(cx, Max2(Neg(distance), none), all, *a.max_distance);
  }
  const Expr table = Reshape({cx.in(0), join_shape({extent(cx.in(0), 1), extent(cx.in(0), 0)})});
  cx.out(0, Unsqueeze({Gather({table, bucket}, {.axis = 1}), cx.ints({0})}));
}

void gated_bias_body(CompositeCx& cx) {
  const std::int64_t heads = cx.attrs<GatedBiasAttrs>().num_heads;
  if (heads < 1) return cx.error("num_heads {} is not positive", heads);
  if (!has_rank(cx, 0, 3) || !has_rank(cx, 3, 2) || !input_left_out(cx, 6, "token_offset")) return;
  const Expr x = widened(cx.in(0)), width = extent(x, 2), steps = extent(x, 1), one_item = int1(cx, 1);
  const Expr query = split_heads(Add(x, widened(fit(cx.in(1), "query_bias", {width}))), heads);
  const Expr gates = extent(cx.in(3), 1);
  const Expr weight = widened(fit(cx.in(3), "weight", {extent(query, 3), gates}));
  const Expr product = Add(MatMul(query, weight), widened(fit(cx.in(4), "bias", {gates})));
  const Expr halves = ReduceSum({SplitAxis({product}, {.axis = 3, .outer = 2}), cx.ints({4})}, {.keepdims = 0});
  const Expr gate = Sigmoid(halves);  // [batch, heads, steps, 2]
  const auto part = [&](std::int64_t i) { return cut(cx, gate, 3, int1(cx, i), int1(cx, i + 1)); };
  const Expr factor = widened(fit(cx.in(5), "eco_a", {one_item, int1(cx, heads), one_item, one_item}));
  const auto number = [&](double value) { return cx.number(x.type().elem, value); };
  const Expr scale = Add(Mul(part(0), Sub(Mul(part(1), factor), number(1))), number(2));
  const Expr bias = widened(fit(cx.in(2), "rel_pos", {one_item, int1(cx, heads), steps, steps}));
  cx.out(0, as_elem(Mul(scale, bias), cx.elem(0)));
}

void ngram_body(CompositeCx& cx) {
  const std::int64_t size = cx.attrs<NGramAttrs>().ngram_size;
  if (size < 1) return cx.error("ngram_size {} is not positive", size);
  if (!has_rank(cx, 0, 2) || !has_rank(cx, 1, 2)) return;
  const Expr ids = cx.in(0), length = extent_scalar(ids, 1), none = cx.number(Elem::i64, 0);
  const Expr before = cx.number(Elem::i64, static_cast<double>(size - 1));
  // Place i of `count` starts a sequence of `size` tokens.
  const Expr last = Sub(length, before), count = Max2(last, none);
  const Expr start = Unsqueeze({iota(cx, count), cx.ints({1})}), offset = iota(cx, before);
  const Expr earlier = Gather({ids, Add(start, offset)}, {.axis = 1});  // [batch, count, size - 1]
  const Expr recent = Gather({ids, Unsqueeze({Max2(Add(last, offset), none), cx.ints({0})})}, {.axis = 1});
  const Expr equal = as_elem(Equal(earlier, recent), Elem::i32);
  const Expr matches = ReduceSum({equal, cx.ints({2})}, {.keepdims = 0});
  const Expr repeated = Equal(matches, cx.number(Elem::i32, static_cast<double>(size - 1)));
  const Expr tokens = cut(cx, ids, 1, Unsqueeze({before, cx.ints({0})}), extent(ids, 1));
  const Expr place = in_range(tokens, "input_ids", int1(cx, 0), extent(cx.in(1), 1));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Expr updates = Where(repeated, cx.number(Elem::f32, -infinity), cx.number(Elem::f32, infinity));
  cx.out(0, ScatterElements({cx.in(1), place, updates}, {.axis = 1, .reduction = "min"}));
}

}  // namespace frazil::ops::microsoft
