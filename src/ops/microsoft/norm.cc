#include "ops/microsoft/norm.h"

#include "ir/op/axis.h"
#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/nn/quant.h"
#include "ops/view/view.h"

namespace frazil::ops::microsoft {
namespace {

/// Returns 1 / sqrt(mean square + epsilon) over the axes from `axis` on.
Expr inverse_root(CompositeCx& cx, Expr x, std::int64_t axis, float epsilon) {
  std::vector<std::int64_t> axes;
  for (std::int64_t a = axis; a < static_cast<std::int64_t>(x.type().rank()); ++a) axes.push_back(a);
  const Expr square = ReduceMean({Mul(x, x), cx.ints(axes)}, {.keepdims = 1});
  return Reciprocal(Sqrt(Add(square, cx.number(x.type().elem, epsilon))));
}

/// Returns input + skip + bias in compute type, or an absent value after an error.
Expr skip_sum(CompositeCx& cx, std::size_t bias) {
  if (cx.rank(0) != 2 && cx.rank(0) != 3) {
    cx.error("input 'input' must have 2 or 3 axes, got {}", cx.rank(0));
    return cx.builder().absent();
  }
  Expr sum = Add(widened(cx.in(0)), widened(fit_broadcast(cx.in(1), "skip", cx.in(0))));
  if (cx.has(bias)) sum = Add(sum, widened(fit(cx.in(bias), "bias", {extent(cx.in(0), -1)})));
  return sum;
}

/// Returns a parameter along the last axis of x, in compute type.
Expr along_last(CompositeCx& cx, std::size_t i, std::string name, Expr x) {
  return widened(fit(cx.in(i), std::move(name), {extent(x, -1)}));
}

}  // namespace

void simplified_layer_norm_body(CompositeCx& cx) {
  const auto& a = cx.attrs<LayerNormAttrs>();
  cx.out(0, RMSNormalization({cx.in(0), cx.in(1)}, a));
  if (cx.output_count() < 2 || !cx.builder().status()) return;
  const auto axis = static_cast<std::int64_t>(from_front(a.axis, cx.rank(0)));
  cx.out(1, inverse_root(cx, widened(cx.in(0)), axis, a.epsilon));
}

void skip_layer_norm_body(CompositeCx& cx) {
  const Expr sum = skip_sum(cx, 4);
  if (!sum) return;
  const Elem elem = cx.elem(0);
  std::vector<Expr> in{sum, along_last(cx, 2, "gamma", sum)};
  if (cx.has(3)) in.push_back(along_last(cx, 3, "beta", sum));
  LayerNormAttrs norm;
  norm.epsilon = cx.attrs<SkipNormAttrs>().epsilon;
  const auto y = LayerNormalization.call(in, norm, std::clamp<std::size_t>(cx.output_count(), 1, 3));
  cx.out(0, as_elem(y[0], elem));
  for (std::size_t i = 1; i < y.size(); ++i) cx.out(i, as_elem(y[i], Elem::f32));
  if (cx.output_count() > 3) cx.out(3, as_elem(sum, elem));
}

void skip_simplified_body(CompositeCx& cx) {
  const Expr sum = skip_sum(cx, 3);
  if (!sum) return;
  const Elem elem = cx.elem(0);
  LayerNormAttrs norm;
  norm.epsilon = cx.attrs<SkipSimplifiedAttrs>().epsilon;
  cx.out(0, as_elem(RMSNormalization({sum, along_last(cx, 2, "gamma", sum)}, norm), elem));
  const std::int64_t last = static_cast<std::int64_t>(cx.rank(0)) - 1;
  if (cx.output_count() > 1) cx.out(1, as_elem(ReduceMean({sum, cx.ints({last})}, {.keepdims = 1}), Elem::f32));
  if (cx.output_count() > 2) cx.out(2, as_elem(inverse_root(cx, sum, last, norm.epsilon), Elem::f32));
  if (cx.output_count() > 3) cx.out(3, as_elem(sum, elem));
}

void bias_softmax_body(CompositeCx& cx) {
  const Expr data = cx.in(0);
  const Expr sum = Add(widened(data), widened(fit_broadcast(cx.in(1), "bias", data)));
  const Expr matrix = Flatten({sum}, {.axis = cx.attrs<BiasSoftmaxAttrs>().axis});
  cx.out(0, as_elem(Reshape({Softmax({matrix}, {.axis = 1}), ShapeOf({data})}, {.allowzero = 1}), cx.elem(0)));
}

namespace {

/// The sum of embeddings that EmbedLayerNormalization and its quantised form normalise. `real` returns a gathered part
/// of input i as real numbers of compute type.
template <class Real>
std::optional<Expr> embedding_sum(CompositeCx& cx, std::optional<std::size_t> places_input, const Real& real) {
  if (!has_rank(cx, 0, 2) || !has_rank(cx, 2, 2) || !has_rank(cx, 3, 2)) return std::nullopt;
  if (cx.has(1) != cx.has(4)) {
    cx.error("segment_ids and segment_embedding are given together or not at all");
    return std::nullopt;
  }
  const Expr ids = cx.in(0), size = extent(cx.in(2), 1);
  const Expr position = places_input && cx.has(*places_input) ? fit_broadcast(cx.in(*places_input), "position_ids", ids)
                                                              : iota(cx, extent_scalar(ids, 1));
  const Expr places = fit(cx.in(3), "position_embedding", {extent(cx.in(3), 0), size});
  Expr sum = real(2, rows(cx, cx.in(2), ids, "input_ids"));
  sum = Add(sum, real(3, rows(cx, places, position, "position_ids")));
  if (!cx.has(1)) return sum;
  if (!has_rank(cx, 4, 2)) return std::nullopt;
  const Expr segments = fit(cx.in(4), "segment_embedding", {extent(cx.in(4), 0), size});
  const Expr ids_of = fit(cx.in(1), "segment_ids", {extent(ids, 0), extent(ids, 1)});
  return Add(sum, real(4, rows(cx, segments, ids_of, "segment_ids")));
}

/// Returns the number of tokens that the mask keeps, [batch]; 0 without a mask.
Expr kept_tokens(CompositeCx& cx, std::size_t mask) {
  const Expr ids = cx.in(0), batch = extent(ids, 0);
  if (!cx.has(mask)) return Expand({cx.number(Elem::i32, 0), batch});
  const Expr kept = Equal(fit(cx.in(mask), "mask", {batch, extent(ids, 1)}), cx.number(Elem::i32, 1));
  return ReduceSum({as_elem(kept, Elem::i32), cx.ints({1})}, {.keepdims = 0});
}

}  // namespace

void embed_norm_body(CompositeCx& cx) {
  const auto sum = embedding_sum(cx, 8, [](std::size_t, Expr part) { return widened(part); });
  if (!sum) return;
  LayerNormAttrs norm;
  norm.epsilon = cx.attrs<EmbedNormAttrs>().epsilon;
  const Expr y = LayerNormalization({*sum, along_last(cx, 5, "gamma", *sum), along_last(cx, 6, "beta", *sum)}, norm);
  cx.out(0, as_elem(y, cx.elem(2)));
  if (cx.output_count() > 1) cx.out(1, kept_tokens(cx, 7));
  if (cx.output_count() > 2) cx.out(2, as_elem(*sum, cx.elem(2)));
}

void qembed_norm_body(CompositeCx& cx) {
  if (cx.has(4) != cx.has(10) || cx.has(4) != cx.has(15)) {
    return cx.error("segment_embedding, its scale and its zero point are given together or not at all");
  }
  // The scale of input i is input i + 6 and its zero point input i + 11.
  const auto real = [&](std::size_t i, Expr part) {
    const auto whole = [&](std::size_t at) { return Reshape({cx.in(at), cx.builder().ints({})}); };
    return ops::DequantizeLinear({part, whole(i + 6), whole(i + 11)});
  };
  const auto sum = embedding_sum(cx, std::nullopt, real);
  if (!sum) return;
  const auto parameter = [&](std::size_t i, const char* name) {
    return real(i, fit(cx.in(i), name, {extent(*sum, -1)}));
  };
  LayerNormAttrs norm;
  norm.epsilon = cx.attrs<QEmbedNormAttrs>().epsilon;
  cx.out(0, LayerNormalization({*sum, parameter(5, "gamma_quant"), parameter(6, "beta_quant")}, norm));
  if (cx.output_count() > 1) cx.out(1, kept_tokens(cx, 7));
}

}  // namespace frazil::ops::microsoft
