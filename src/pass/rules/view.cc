#include "ops/view/view.h"

#include <algorithm>
#include <array>

#include "ops/elementwise/math.h"
#include "pass/engine/rules.h"

namespace frazil::pass {
namespace {

// ---- transposes ----

bool moves_nothing(std::span<const std::size_t> axes) { return std::ranges::is_sorted(axes); }

Expr transpose(Expr x, std::span<const std::size_t> axes) {
  return ops::Transpose({x}, {.perm = Ints(axes.begin(), axes.end())});
}

bool transposes_nothing(const Site& s) { return moves_nothing(axes_of(s.node, s.type(0).rank())); }

bool transposes_transpose(const Site& s) { return s.maker(0, ops::Transpose) != nullptr; }

Expr transpose_once(const Site& s, Builder& to) {
  const Node& inner = *s.maker(0, ops::Transpose);
  const auto first = axes_of(inner, s.type(0).rank()), second = axes_of(s.node, s.type(0).rank());
  std::vector<std::size_t> both;
  for (std::size_t axis : second) both.push_back(first[axis]);
  const Expr x{&to, inner.in[0]};
  return moves_nothing(both) ? x : transpose(x, both);
}

/// Returns true if v passes through elementwise nodes of one operand, without other uses, to a transpose.
bool meets_transpose(const Graph& graph, const Uses& uses, Value v) {
  constexpr int kMaxChainLength = 64;
  for (int step = 0; step < kMaxChainLength; ++step) {
    const auto user = uses.only_user(v);
    if (!user) return false;
    const Node& node = graph.node(*user);
    if (node.op == &ops::Transpose) return true;
    if (!only_operand(graph, *node.op, node.in)) return false;
    v = node.out[0];
  }
  return false;
}

bool delays_transpose(const Site& s) {
  const auto i = only_operand(s.graph, *s.node.op, s.in);
  return i && s.maker(*i, ops::Transpose) && meets_transpose(s.from, s.uses, s.node.out[0]);
}

Expr transpose_later(const Site& s, Builder& to) {
  const std::size_t at = *only_operand(s.graph, *s.node.op, s.in);
  const Node& inner = *s.maker(at, ops::Transpose);
  const auto axes = axes_of(inner, s.type(at).rank());
  std::vector<Expr> in;
  for (std::size_t i = 0; i < s.in.size(); ++i) in.push_back({&to, i == at ? inner.in[0] : s.in[i]});
  const Expr y = to.add(*s.node.op, in, s.node.attrs)[0];
  return transpose(y, axes);
}

// ---- other extents ----

bool keeps_extents(const Site& s) {
  return s.same_type(0) && (s.in.size() < 2 || cannot_fail(s.graph, s.in[1], s.in[0]));
}
bool has_one_operand(const Site& s) { return s.in.size() == 1; }

/// Returns true for a shape without 0, which would copy an extent.
bool is_plain_shape(const Site& s) {
  const Tensor* shape = s.constant(1);
  if (!shape) return false;
  for (std::int64_t i = 0; i < shape->count(); ++i) {
    if (shape->integer_at(i) == 0) return false;
  }
  return true;
}

/// Returns the node that makes operand 0, if it only changes extents; else null.
const Node* reshaping(const Site& s) {
  for (const OpDef* op : kOps<ops::Reshape, ops::Flatten, ops::Squeeze, ops::Unsqueeze>) {
    if (const Node* made = s.maker(0, *op)) return made;
  }
  return nullptr;
}
bool reshapes_reshaped(const Site& s) { return is_plain_shape(s) && reshaping(s) != nullptr; }
Expr reshape_once(const Site& s, Builder& to) {
  return ops::Reshape({Expr{&to, reshaping(s)->in[0]}, Expr{&to, s.in[1]}}, s.attrs<ops::ReshapeAttrs>());
}

using N = Numerics;
constexpr Rule kViewRules[] = {
    {"transpose_none", kOps<ops::Transpose>, "a transpose that permutes nothing -> x", N::exact,
     when<transposes_nothing, keep<0>>},
    {"transpose_twice", kOps<ops::Transpose>, "a transpose of a transpose -> one transpose, or x", N::exact,
     when<transposes_transpose, transpose_once>},
    {"transpose_later",
     {},
     "f(transpose(x)) -> transpose(f(x)), where another transpose follows",
     N::exact,
     when<delays_transpose, transpose_later>},
    {"same_extents", kOps<ops::Reshape, ops::Expand, ops::Flatten, ops::Squeeze, ops::Unsqueeze, ops::Tile>,
     "a reshape or broadcast to the extents of x -> x", N::exact, when<keeps_extents, keep<0>>},
    {"reshape_twice", kOps<ops::Reshape>, "reshape(reshape(x), s) -> reshape(x, s)", N::exact,
     when<reshapes_reshaped, reshape_once>},
    {"concat_one", kOps<ops::Concat>, "concat(x) -> x", N::exact, when<has_one_operand, keep<0>>},
};

}  // namespace

std::span<const Rule> view_rules() { return kViewRules; }

}  // namespace frazil::pass
