#include <algorithm>

#include "ir/op/axis.h"
#include "ops/contraction/contraction.h"
#include "ops/view/view.h"
#include "pass/layout/layout_rules.h"

// Elementwise nodes and reductions on images with channels last.
namespace frazil::pass {
namespace {

// ---- elementwise ----

/// Returns true for an operand that is itself an image of the result's rank. A constant does not count: it is
/// transposed once.
bool is_taken(const Graph& graph, Value v, std::size_t rank) {
  return graph.type(v).rank() == rank && graph.constant(v) == nullptr;
}

std::optional<LayoutChange> match_elementwise(const LayoutQuery& q) {
  const Node& node = q.node;
  const auto ranked = [&](Value v) { return v && q.graph.type(v).is_tensor() && q.graph.type(v).ranked; };
  if (node.out.size() != 1 || !is_image(q.graph, node.out[0]) || !std::ranges::all_of(node.in, ranked)) {
    return std::nullopt;
  }
  const std::size_t rank = q.graph.type(node.out[0]).rank();
  LayoutChange change{.image_inputs = {}, .image_outputs = {node.out[0]}, .absorbed = {}};
  std::ranges::copy_if(node.in, std::back_inserter(change.image_inputs),
                       [&](Value v) { return is_taken(q.graph, v, rank); });
  return change.image_inputs.empty() ? std::nullopt : std::optional(std::move(change));
}

/// Returns x with as many axes as the image that it broadcasts to.
Expr lifted(Builder& to, Expr x, std::size_t rank) {
  const std::size_t missing = rank - x.type().rank();
  if (missing == 0) return x;
  if (const Constant* c = to.graph().constant(x.value); c && c->tensor.contiguous()) {
    Sizes sizes(missing, 1);
    sizes.insert(sizes.end(), c->tensor.sizes().begin(), c->tensor.sizes().end());
    return to.constant(reshaped(c->tensor, std::move(sizes)));
  }
  Ints axes;
  for (std::size_t axis = 0; axis < missing; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return ops::Unsqueeze(x, to.ints(axes));
}

Expr operand(const LayoutSite& s, Value v, std::size_t rank) {
  if (is_taken(s.from, v, rank)) return s.last(v);
  const Expr x = s.second(v);
  const Constant* c = s.from.constant(v);
  const bool single = s.from.type(v).rank() == 0 || (c && c->tensor.count() == 1);
  return single ? x : channels_last(lifted(s.to, x, rank));
}

std::vector<Value> make_elementwise(const LayoutSite& s) {
  const std::size_t rank = s.from.type(s.node.out[0]).rank();
  std::vector<Expr> in;
  for (Value v : s.node.in) in.push_back(operand(s, v, rank));
  return rebuilt(s, std::move(in), s.node.attrs);
}

// ---- reductions ----

/// Returns true if the remaining axes have the same order in both layouts.
bool remains_in_order(const Ints& reduced, std::size_t rank) {
  const auto is_reduced = [&](std::size_t axis) {
    return std::ranges::any_of(reduced, [&](std::int64_t a) { return from_front(a, rank) == axis; });
  };
  if (is_reduced(1)) return true;
  for (std::size_t axis = 2; axis < rank; ++axis) {
    if (!is_reduced(axis)) return false;
  }
  return true;
}

std::optional<LayoutChange> match_over(const LayoutQuery& q, const Ints& axes, bool keeps) {
  if (!q.node.out[0] || !is_image(q.graph, q.node.in[0]) || axes.empty()) return std::nullopt;
  if (keeps) return image_to_image(q.node);
  if (!remains_in_order(axes, q.graph.type(q.node.in[0]).rank())) return std::nullopt;
  return LayoutChange{.image_inputs = {q.node.in[0]}, .image_outputs = {}, .absorbed = {}};
}

std::optional<LayoutChange> match_reduce(const LayoutQuery& q) {
  const auto axes = content(q.graph, q.node, 1);
  return axes ? match_over(q, *axes, q.node.attributes<ops::ReduceAttrs>().keepdims != 0) : std::nullopt;
}

std::vector<Value> make_reduce(const LayoutSite& s) {
  const Ints axes = last_axes_of(*content(s.from, s.node, 1), s.from.type(s.node.in[0]).rank());
  return rebuilt(s, {s.last(s.node.in[0]), s.to.ints(axes)}, s.node.attrs);
}

std::optional<LayoutChange> match_arg(const LayoutQuery& q) {
  const auto& a = q.node.attributes<ops::ArgAttrs>();
  return match_over(q, {a.axis}, a.keepdims != 0);
}

std::vector<Value> make_arg(const LayoutSite& s) {
  ops::ArgAttrs attrs = s.attrs<ops::ArgAttrs>();
  attrs.axis = last_axis_of(attrs.axis, s.from.type(s.node.in[0]).rank());
  return rebuilt(s, {s.last(s.node.in[0])}, shared_attrs(attrs));
}

using N = Numerics;
constexpr auto kReduces =
    kOps<ops::ReduceSum, ops::ReduceMean, ops::ReduceMax, ops::ReduceMin, ops::ReduceProd, ops::ReduceL1, ops::ReduceL2,
         ops::ReduceSumSquare, ops::ReduceLogSum, ops::ReduceLogSumExp>;
constexpr LayoutRule kFoldLayoutRules[] = {
    {{"last_elementwise", {}, "channels last: an elementwise node", N::exact}, match_elementwise, make_elementwise},
    {{"last_reduce", kReduces, "channels last: a reduction over known axes", N::reassociated},
     match_reduce,
     make_reduce},
    {{"last_arg", kOps<ops::ArgMax, ops::ArgMin>, "channels last: the position of an extreme along an axis", N::exact},
     match_arg,
     make_arg},
};

}  // namespace

std::span<const LayoutRule> fold_layout_rules() { return kFoldLayoutRules; }

}  // namespace frazil::pass
