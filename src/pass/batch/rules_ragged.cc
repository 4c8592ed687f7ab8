#include "pass/batch/rules_ragged.h"

#include <algorithm>

#include "ir/op/axis.h"
#include "ops/contraction/contraction.h"
#include "ops/core/compose.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/index/cumulative.h"
#include "ops/index/index.h"
#include "ops/nn/recurrent.h"
#include "ops/view/view.h"
#include "pass/batch/ragged.h"

namespace frazil::pass {
namespace {

using Axes = std::optional<std::vector<std::optional<std::size_t>>>;

Expr along(Expr x, std::int64_t new_axis) { return ops::Unsqueeze(x, x.builder->ints(std::array{new_axis})); }

Expr numbers_below(Expr limit) {
  Builder& to = *limit.builder;
  return ops::Range(to.scalar(std::int64_t{0}), limit, to.scalar(std::int64_t{1}));
}

/// Writes the places of the rows of x, which are along axis 0.
RowPlaces make_places(Expr lengths, Expr x) {
  Builder& to = *lengths.builder;
  const Expr axis0 = to.ints(std::array<std::int64_t, 1>{0}), axis1 = to.ints(std::array<std::int64_t, 1>{1});
  const Expr ends = ops::CumSum({lengths, to.scalar(std::int64_t{0})});
  const Expr starts = ops::Sub(ends, lengths);
  const Expr total = ops::extent_scalar(x, 0);
  const Expr steps = numbers_below(ops::ReduceMax({lengths, axis0}, {.keepdims = 0}));
  const Expr is_row = ops::Less(along(steps, 1), along(lengths, 0));
  const Expr rows = ops::Where(is_row, ops::Add(along(starts, 0), along(steps, 1)), to.scalar(std::int64_t{0}));
  const Expr row = numbers_below(total);
  const Expr is_after = ops::GreaterOrEqual(along(row, 1), along(ends, 0));
  const Expr request = ops::ReduceSum({ops::as_elem(is_after, Elem::i64), axis1}, {.keepdims = 0});
  const Expr step = ops::Sub(row, ops::Gather({starts, request}, {.axis = 0}));
  const Expr places = ops::Add(ops::Mul(step, ops::extent_scalar(lengths, 0)), request);
  return {.lengths = ops::as_elem(lengths, Elem::i32).value, .rows = rows.value, .places = places.value};
}

// ---- embeddings ----

/// Gather of shared data picks for each row of the indices, and Gather of rows at shared indices picks inside of rows.
Axes gather_axes(const Graph& graph, const Node& node, const RowAxes& axes) {
  const auto data = axes.axis(node.in[0]), indices = axes.axis(node.in[1]);
  const std::size_t at = from_front(node.attributes<ops::GatherAttrs>().axis, graph.type(node.in[0]).rank());
  if (indices && axes.is_shared(node.in[0])) return std::vector{std::optional(*indices + at)};
  if (!data || !axes.is_shared(node.in[1]) || *data == at) return std::nullopt;
  return std::vector{std::optional(*data < at ? *data : *data + graph.type(node.in[1]).rank() - 1)};
}

// ---- recurrent layers ----

enum RecurrentInput : std::uint8_t { kX, kW, kR, kB, kLens, kH, kC, kP };

template <class A>
Axes recurrent_axes(const Graph&, const Node& node, const RowAxes& axes) {
  const std::size_t time = node.attributes<A>().layout != 0 ? 1 : 0;
  const auto given = [&](std::size_t k) { return k < node.in.size() && node.in[k]; };
  const bool states = given(kH) || given(kC);
  const auto weights = std::span(node.in).subspan(1);
  const bool shared = std::ranges::all_of(weights, [&](Value v) { return axes.is_shared(v); });
  if (axes.axis(node.in[kX]) != time || !shared || given(kLens) || (time == 1 && states)) return std::nullopt;
  std::vector<std::optional<std::size_t>> found(node.out.size());
  if (node.out[0]) found[0] = time;
  return found;
}

/// A recurrent layer over joined rows. Sequences of the layer are those of all requests: request by request, and
/// inside a request in the order of its own batch.
class RaggedLayer {
 public:
  RaggedLayer(const RaggedSite& site, const RowPlaces& places, Expr x) : site_(site), places_(places), x_(x) {}

  std::vector<Value> inputs() {
    std::vector<Value> in(site_.in.begin(), site_.in.end());
    in.resize(std::max<std::size_t>(in.size(), kLens + 1));
    in[kX] = joined(ops::Gather({x_, expr(places_.rows)}, {.axis = 0}), 1);
    in[kLens] = joined(repeated(along(expr(places_.lengths), 1), {requests(), batch()}), 0);
    for (const std::size_t k : {std::size_t{kH}, std::size_t{kC}}) {
      if (k < in.size() && in[k]) in[k] = state(expr(in[k]));
    }
    return in;
  }

  /// Returns the rows [rows, directions, batch, hidden] of y [steps, directions, sequences, hidden].
  Expr rows_of(Expr y) {
    const Expr flat = ops::Transpose({y}, {.perm = {0, 2, 1, 3}});
    const Expr shape =
        ops::join_shape({ops::Mul(ops::extent(y, 0), requests()), batch(), ops::extent(y, 1), ops::extent(y, 3)});
    const Expr rows = ops::Gather({ops::Reshape({flat, shape}), expr(places_.places)}, {.axis = 0});
    return ops::Transpose({rows}, {.perm = {0, 2, 1, 3}});
  }

 private:
  Expr expr(Value v) const { return {&site_.to, v}; }
  Expr requests() const { return ops::extent(expr(site_.lengths), 0); }
  Expr batch() const { return ops::extent(x_, 1); }
  static Expr repeated(Expr x, std::initializer_list<Expr> shape) { return ops::Expand(x, ops::join_shape(shape)); }
  static Value joined(Expr x, std::int64_t axis) { return ops::MergeAxes({x}, {.axis = axis}).value; }
  Value state(Expr h) const {
    return joined(repeated(along(h, 1), {ops::extent(h, 0), requests(), batch(), ops::extent(h, 2)}), 1);
  }

  const RaggedSite& site_;
  const RowPlaces& places_;
  const Expr x_;
};

template <class A>
Result<std::vector<Value>> make_recurrent(const RaggedSite& site, RowPlaces& places) {
  A attrs = site.node.attributes<A>();
  const bool batch_first = attrs.layout != 0;
  attrs.layout = 0;
  Expr x{&site.to, site.in[kX]};
  if (batch_first) x = ops::Transpose({x}, {.perm = {1, 0, 2}});
  if (!places.rows) places = make_places({&site.to, site.lengths}, x);
  RaggedLayer layer(site, places, x);
  auto inputs = layer.inputs();
  FRAZIL_CHECK(site.to.status());
  FRAZIL_TRY(const NodeId made,
             site.to.append(*site.node.op, std::move(inputs), shared_attrs(std::move(attrs)), {true}, {}));
  Expr y = layer.rows_of({&site.to, site.to.graph().node(made).out[0]});
  if (batch_first) y = ops::Transpose({y}, {.perm = {2, 0, 1, 3}});
  FRAZIL_CHECK(site.to.status());
  std::vector<Value> results(site.node.out.size());
  results[0] = y.value;
  return results;
}

const RaggedRule kRules[] = {
    {{&ops::Gather, gather_axes}, nullptr},
    {{&ops::RNN, recurrent_axes<ops::RnnAttrs>}, make_recurrent<ops::RnnAttrs>},
    {{&ops::GRU, recurrent_axes<ops::GruAttrs>}, make_recurrent<ops::GruAttrs>},
    {{&ops::LSTM, recurrent_axes<ops::LstmAttrs>}, make_recurrent<ops::LstmAttrs>},
};

}  // namespace

std::span<const RowAxes::Served> ragged_operators() {
  static const std::vector<RowAxes::Served> all = [] {
    std::vector<RowAxes::Served> served;
    for (const RaggedRule& rule : kRules) served.push_back(rule.served);
    return served;
  }();
  return all;
}

const RaggedRule* ragged_rule_of(const OpDef& op) {
  const auto* const at = std::ranges::find(kRules, &op, [](const RaggedRule& rule) { return rule.served.op; });
  return at == std::end(kRules) || at->make == nullptr ? nullptr : at;
}

}  // namespace frazil::pass
