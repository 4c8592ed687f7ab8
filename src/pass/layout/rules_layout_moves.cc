#include <algorithm>
#include <numeric>

#include "ir/op/axis.h"
#include "ops/contraction/contraction.h"
#include "ops/image/sampling.h"
#include "ops/view/view.h"
#include "pass/layout/layout_rules.h"

// Nodes that move elements, on images with channels last.
namespace frazil::pass {
namespace {

std::size_t rank_of(const Graph& graph, const Node& node) { return graph.type(node.in[0]).rank(); }

Ints all_axes(std::size_t rank) {
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// Returns the operands: the image first, with channels last, then the others as they were.
std::vector<Expr> with_image(const LayoutSite& s) {
  std::vector<Expr> in{s.last(s.node.in[0])};
  for (Value v : std::span(s.node.in).subspan(1)) in.push_back(v ? s.second(v) : s.to.absent());
  return in;
}

// ---- parts ----

std::optional<LayoutChange> match_concat(const LayoutQuery& q) {
  const Node& node = q.node;
  if (!std::ranges::all_of(node.in, [&](Value v) { return is_image(q.graph, v); })) return std::nullopt;
  return LayoutChange{.image_inputs = node.in, .image_outputs = node.out, .absorbed = {}};
}

std::vector<Value> make_concat(const LayoutSite& s) {
  std::vector<Expr> in;
  for (Value v : s.node.in) in.push_back(s.last(v));
  const std::int64_t axis = last_axis_of(s.attrs<ops::ConcatAttrs>().axis, rank_of(s.from, s.node));
  return rebuilt(s, std::move(in), shared_attrs(ops::ConcatAttrs{.axis = axis}));
}

std::optional<LayoutChange> match_split(const LayoutQuery& q) {
  const bool all = std::ranges::all_of(q.node.out, [](Value v) { return static_cast<bool>(v); });
  return all && is_image(q.graph, q.node.in[0]) ? std::optional(image_to_image(q.node)) : std::nullopt;
}

std::vector<Value> make_split(const LayoutSite& s) {
  ops::SplitAttrs attrs = s.attrs<ops::SplitAttrs>();
  attrs.axis = last_axis_of(attrs.axis, rank_of(s.from, s.node));
  return rebuilt(s, with_image(s), shared_attrs(attrs));
}

/// Returns the axes of a Slice or Pad; input `listed` may contain them.
std::optional<Ints> axes_given(const Graph& graph, const Node& node, std::size_t listed, std::size_t count) {
  const bool given = listed < node.in.size() && node.in[listed];
  return given ? content(graph, node, listed) : std::optional(all_axes(count));
}

/// Returns the number of axes that a Slice cuts.
std::optional<std::size_t> cut_axes(const Graph& graph, const Node& node) {
  const Shape& starts = graph.type(node.in[1]).shape;
  if (!graph.type(node.in[1]).ranked || starts.size() != 1 || !starts[0].is_const()) return std::nullopt;
  return static_cast<std::size_t>(starts[0].value());
}

std::optional<LayoutChange> match_slice(const LayoutQuery& q) {
  const auto count = cut_axes(q.graph, q.node);
  if (!is_image(q.graph, q.node.in[0]) || !count || !axes_given(q.graph, q.node, 3, *count)) return std::nullopt;
  return image_to_image(q.node);
}

Expr index_list(Builder& to, const Ints& values, Elem elem) {
  if (elem == Elem::i64) return to.ints(values);
  const std::vector<std::int32_t> narrow(values.begin(), values.end());
  return to.constant(Tensor::of<std::int32_t>({static_cast<std::int64_t>(narrow.size())}, std::span(narrow)));
}

std::vector<Value> make_slice(const LayoutSite& s) {
  std::vector<Expr> in = with_image(s);
  const Ints axes = *axes_given(s.from, s.node, 3, *cut_axes(s.from, s.node));
  in.resize(std::max<std::size_t>(in.size(), 4), s.to.absent());
  in[3] = index_list(s.to, last_axes_of(axes, rank_of(s.from, s.node)), s.from.type(s.node.in[1]).elem);
  return rebuilt(s, std::move(in), s.node.attrs);
}

std::optional<LayoutChange> match_pad(const LayoutQuery& q) {
  if (!is_image(q.graph, q.node.in[0]) || !axes_given(q.graph, q.node, 3, rank_of(q.graph, q.node))) {
    return std::nullopt;
  }
  return image_to_image(q.node);
}

std::vector<Value> make_pad(const LayoutSite& s) {
  const std::size_t rank = rank_of(s.from, s.node);
  std::vector<Expr> in = with_image(s);
  in.resize(4, s.to.absent());
  in[3] = s.to.ints(last_axes_of(*axes_given(s.from, s.node, 3, rank), rank));
  return rebuilt(s, std::move(in), s.node.attrs);
}

std::optional<LayoutChange> match_resize(const LayoutQuery& q) {
  return is_image(q.graph, q.node.in[0]) ? std::optional(image_to_image(q.node)) : std::nullopt;
}

std::vector<Value> make_resize(const LayoutSite& s) {
  const std::size_t rank = rank_of(s.from, s.node);
  ops::ResizeAttrs attrs = s.attrs<ops::ResizeAttrs>();
  attrs.axes = last_axes_of(attrs.axes.empty() ? all_axes(rank) : attrs.axes, rank);
  return rebuilt(s, with_image(s), shared_attrs(attrs));
}

// ---- transposes ----

/// The images among a transpose's operand and result.
enum class Side : std::uint8_t { operand, result, both };

Ints order_of(const Node& node, std::size_t rank) {
  const auto axes = axes_of(node, rank);
  return {axes.begin(), axes.end()};
}

/// Chooses the images. Transposes often feed convolutions, and often read their results.
Side side_of(const LayoutQuery& q, const Ints& order) {
  if (order[0] == 0 && order[1] == 1) return Side::both;
  const NodeId user = q.uses.user[q.node.out[0].id];
  if (user && q.graph.node(user).op == &ops::Conv) return Side::result;
  return order == second_order(order.size()) && order.size() > 3 ? Side::result : Side::operand;
}

/// Returns the permutation that gives `order`'s result from the image with channels last.
Ints order_from_last(const Ints& order) {
  const Ints last = last_order(order.size());
  Ints made;
  for (std::int64_t axis : order) made.push_back(std::ranges::find(last, axis) - last.begin());
  return made;
}
Ints order_to_last(const Ints& order) {
  Ints made;
  for (std::int64_t axis : last_order(order.size())) made.push_back(order[static_cast<std::size_t>(axis)]);
  return made;
}

std::optional<LayoutChange> match_transpose(const LayoutQuery& q) {
  if (!is_image(q.graph, q.node.in[0])) return std::nullopt;
  const Ints order = order_of(q.node, rank_of(q.graph, q.node));
  LayoutChange change = image_to_image(q.node);
  const Side side = side_of(q, order);
  if (side == Side::operand) change.image_outputs.clear();
  if (side == Side::result) change.image_inputs.clear();
  const bool vanishes = side == Side::operand ? std::ranges::is_sorted(order_from_last(order))
                                              : side == Side::result && std::ranges::is_sorted(order_to_last(order));
  change.gain = vanishes ? 1 : 0;
  return change;
}

Expr in_order(Expr x, Ints order) {
  return std::ranges::is_sorted(order) ? x : ops::Transpose({x}, {.perm = std::move(order)});
}

std::vector<Value> make_transpose(const LayoutSite& s) {
  const Value x = s.node.in[0];
  const Ints order = order_of(s.node, s.from.type(x).rank());
  if (s.change.image_inputs.empty()) return {in_order(s.second(x), order_to_last(order)).value};
  const Ints from_last = order_from_last(order);
  return {in_order(s.last(x), s.change.image_outputs.empty() ? from_last : order_to_last(from_last)).value};
}

// ---- channel shuffles ----

const Node* only_maker(const LayoutQuery& q, Value v, const OpDef& op, std::vector<NodeId>& absorbed) {
  const auto id = q.graph.producer(v);
  if (!id || q.uses.only_user(v) == std::nullopt) return nullptr;
  const Node& node = q.graph.node(*id);
  if (node.op != &op || !node.constraints.empty() || node.parent != q.node.parent) return nullptr;
  absorbed.push_back(*id);
  return &node;
}

/// Returns true for [n, g, c, ...] -> [n, c, g, ...].
bool swaps_groups(const Node& transpose, std::size_t rank) {
  Ints swapped = all_axes(rank);
  std::swap(swapped[1], swapped[2]);
  return order_of(transpose, rank) == swapped;
}

/// Returns true if `split` has the extents of x with its channels as two axes.
bool is_split(const Shape& x, const Shape& split) {
  if (split.size() != x.size() + 1 || x[0] != split[0] || !split[1].is_const() || !split[2].is_const()) return false;
  return std::ranges::equal(std::span(x).subspan(2), std::span(split).subspan(3));
}

std::optional<LayoutChange> match_shuffle(const LayoutQuery& q) {
  const Node& node = q.node;
  LayoutChange change{.image_inputs = {}, .image_outputs = {node.out[0]}, .absorbed = {}};
  const Node* swap = only_maker(q, node.in[0], ops::Transpose, change.absorbed);
  const Node* split = swap ? only_maker(q, swap->in[0], ops::Reshape, change.absorbed) : nullptr;
  if (!split || !is_image(q.graph, split->in[0]) || !is_image(q.graph, node.out[0])) return std::nullopt;
  const Shape &x = q.graph.type(split->in[0]).shape, &groups = q.graph.type(split->out[0]).shape;
  const bool shuffles =
      is_split(x, groups) && swaps_groups(*swap, groups.size()) && q.graph.type(node.out[0]).shape == x;
  if (!shuffles) return std::nullopt;
  change.image_inputs = {split->in[0]};
  return change;
}

std::vector<Value> make_shuffle(const LayoutSite& s) {
  const Node& swap = s.from.node(s.change.absorbed[0]);
  const Shape& groups = s.from.type(swap.in[0]).shape;
  const auto at = static_cast<std::int64_t>(groups.size()) - 2;
  const Expr split = ops::SplitAxis({s.last(s.change.image_inputs[0])}, {.axis = at, .outer = groups[1].value()});
  Ints order = all_axes(groups.size());
  std::swap(order[order.size() - 2], order.back());
  return {ops::MergeAxes({ops::Transpose({split}, {.perm = std::move(order)})}, {.axis = at}).value};
}

// ---- spatial axes as one ----

/// Returns true if only the spatial axes become one, or one becomes two.
bool joins_space(const Shape& x, const Shape& y) {
  const bool ranks = (x.size() > 3 && y.size() == 3) || (x.size() == 3 && y.size() == 4);
  return ranks && x[0] == y[0] && x[1] == y[1] && (y.size() == 3 || y[2].is_const() || y[3].is_const());
}

std::optional<LayoutChange> match_space(const LayoutQuery& q) {
  const Node& node = q.node;
  if (!is_image(q.graph, node.in[0]) || !is_image(q.graph, node.out[0])) return std::nullopt;
  if (!joins_space(q.graph.type(node.in[0]).shape, q.graph.type(node.out[0]).shape)) return std::nullopt;
  return image_to_image(node);
}

std::vector<Value> make_space(const LayoutSite& s) {
  const Shape& y = s.from.type(s.node.out[0]).shape;
  const auto spatial = static_cast<std::int64_t>(rank_of(s.from, s.node)) - 2;
  const Expr x = s.last(s.node.in[0]);
  if (y.size() == 3) return {ops::MergeAxes({x}, {.axis = 1, .count = spatial}).value};
  const ops::SplitAxisAttrs parts = y[2].is_const() ? ops::SplitAxisAttrs{.axis = 1, .outer = y[2].value()}
                                                    : ops::SplitAxisAttrs{.axis = 1, .inner = y[3].value()};
  return {ops::SplitAxis({x}, parts).value};
}

using N = Numerics;
constexpr LayoutRule kMoveLayoutRules[] = {
    {{"last_concat", kOps<ops::Concat>, "channels last: Concat", N::exact}, match_concat, make_concat},
    {{"last_split", kOps<ops::Split>, "channels last: Split", N::exact}, match_split, make_split},
    {{"last_slice", kOps<ops::Slice>, "channels last: Slice of known axes", N::exact}, match_slice, make_slice},
    {{"last_pad", kOps<ops::Pad>, "channels last: Pad of known axes", N::exact}, match_pad, make_pad},
    {{"last_resize", kOps<ops::Resize>, "channels last: Resize", N::exact}, match_resize, make_resize},
    {{"last_transpose", kOps<ops::Transpose>, "channels last: a transpose of an image, or to one, with other axes",
      N::exact},
     match_transpose,
     make_transpose},
    {{"last_shuffle", kOps<ops::Reshape>,
      "channels last: [n, g * c, ...] -> [n, g, c, ...] -> [n, c, g, ...] -> [n, c * g, ...]", N::exact},
     match_shuffle,
     make_shuffle},
    {{"last_space", kOps<ops::Reshape>, "channels last: the spatial axes become one, or one becomes two", N::exact},
     match_space,
     make_space},
};

}  // namespace

std::span<const LayoutRule> move_layout_rules() { return kMoveLayoutRules; }

}  // namespace frazil::pass
