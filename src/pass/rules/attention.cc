#include "pass/rules/attention.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/contraction/contraction.h"
#include "ops/elementwise/logic.h"
#include "ops/elementwise/math.h"
#include "ops/elementwise/nn.h"
#include "ops/nn/attend.h"
#include "ops/nn/norm.h"
#include "ops/view/view.h"
#include "pass/engine/rules.h"

// softmax(Q Kt) V as written by exporters, in any order of operands.
namespace frazil::pass {
namespace {

using Perm = std::vector<std::size_t>;

/// A value and the transposes applied to it.
struct Turned {
  Value base;
  Perm perm;  ///< axis k of the result is axis perm[k] of base

  void turn(std::span<const std::size_t> by) {
    Perm now;
    for (std::size_t axis : by) now.push_back(perm[axis]);
    perm = std::move(now);
  }
  void swap_last() { std::swap(perm[perm.size() - 1], perm[perm.size() - 2]); }
};

/// The parts of a product of probabilities and values.
struct Pattern {
  Turned q, k;  ///< [..., steps, features]
  Value v, product;
  double scale = 1;
  double softcap = 0;
  Value factor, divisor;  ///< scalars that scale the scores, if they are not constants
  std::array<Value, 2> bias{};
  Value keep;  ///< boolean mask
  bool keep_hides = false, biased_hidden = false;
  double hidden = 0;
  std::int64_t undefined = 0;
};

/// Searches one graph for the pattern.
class AttentionFinder {
 public:
  AttentionFinder(const Graph& graph, BlockId block, const Uses* uses) : graph_(graph), block_(block), uses_(uses) {}

  std::optional<Pattern> find(std::span<const Value> in) {
    Pattern p;
    p.v = in[1];
    const Node* softmax = probabilities(in[0], p);
    if (!softmax) return std::nullopt;
    p.product = softmax->in[0];
    const Type& scores = type(softmax->in[0]);
    if (scores.elem != Elem::f32 || scores.rank() < 2 || scores.rank() > 4)
      return refuse("it is not f32 of 2 to 4 axes");
    if (!masked(softmax->in[0], p, 0)) return std::nullopt;
    return shapes_agree(p, scores) ? std::optional(p) : std::nullopt;
  }
  /// Returns why a candidate does not match; empty if there is no candidate.
  std::string_view why() const { return why_; }

 private:
  std::nullopt_t refuse(std::string_view why) {
    if (why_.empty()) why_ = why;
    return std::nullopt;
  }

  const Type& type(Value v) const { return graph_.type(v); }

  const Node* made(Value v, const OpDef& op) const {
    const auto id = v ? graph_.producer(v) : std::nullopt;
    if (!id) return nullptr;
    const Node& node = graph_.node(*id);
    return node.op == &op && node.constraints.empty() && node.parent == block_ ? &node : nullptr;
  }
  /// Returns made() for a value with exactly `uses` uses, all in the pattern.
  const Node* inner(Value v, const OpDef& op, std::uint32_t uses = 1) {
    const Node* node = made(v, op);
    if (!node) return nullptr;
    if (uses_ && uses_->count[v.id] != uses) {
      refuse("an intermediate value has another use");
      return nullptr;
    }
    return node;
  }

  std::optional<double> number(Value v) const {
    const Constant* c = graph_.constant(v);
    if (!c || c->tensor.count() != 1 || !is_float(c->tensor.elem())) return std::nullopt;
    return c->tensor.number_at(0);
  }
  bool is_scalar(Value v) const { return type(v).has_one_element(); }
  bool is_last(std::int64_t axis, Value of) const {
    return axis == -1 || axis + 1 == static_cast<std::int64_t>(type(of).rank());
  }

  const Node* probabilities(Value v, Pattern& p) {
    if (const Node* where = made(v, ops::Where)) {
      const Node* test = made(where->in[0], ops::IsNaN);
      if (!test || test->in[0] != where->in[2] || number(where->in[1]) != 0.0) return nullptr;
      if (!inner(v, ops::Where) || !inner(where->in[0], ops::IsNaN)) return nullptr;
      p.undefined = 2;
      const Node* softmax = inner(where->in[2], ops::Softmax, 2);
      return softmax && is_last(softmax->attributes<ops::SoftmaxAttrs>().axis, where->in[2]) ? softmax : nullptr;
    }
    const Node* softmax = inner(v, ops::Softmax);
    return softmax && is_last(softmax->attributes<ops::SoftmaxAttrs>().axis, v) ? softmax : nullptr;
  }

  /// Matches scores with masks. On failure, p may have changed.
  bool masked(Value v, Pattern& p, int depth) {
    constexpr int kMaxDepth = 4;
    const Pattern before = p;
    if (const Node* add = depth < kMaxDepth && !p.bias[1] ? made(v, ops::Add) : nullptr) {
      for (std::size_t i = 0; i < 2; ++i) {
        p = before;
        if (!may_mask(add->in[1 - i], v)) continue;
        p.bias[p.bias[0] ? 1 : 0] = add->in[1 - i];
        if (masked(add->in[i], p, depth + 1)) return inner(v, ops::Add) != nullptr;
      }
      p = before;
      return false;
    }
    if (const Node* where = depth < kMaxDepth && !p.keep ? made(v, ops::Where) : nullptr) {
      for (std::size_t i = 1; i < 3; ++i) {
        p = before;
        const auto hidden = number(where->in[3 - i]);
        if (!hidden || !may_mask(where->in[0], v)) continue;
        p.keep = where->in[0], p.keep_hides = i == 2, p.hidden = *hidden;
        p.biased_hidden = static_cast<bool>(p.bias[0]);
        if (masked(where->in[i], p, depth + 1)) return inner(v, ops::Where) != nullptr;
      }
      p = before;
      return false;
    }
    return scaled(v, p, 0);
  }
  /// Returns true for a mask that does not enlarge the scores v. The numbers of keys and values are checked in any
  /// case.
  bool may_mask(Value mask, Value v) const {
    const Shape &own = type(mask).shape, &all = type(v).shape;
    if (own.size() > all.size()) return false;
    const auto rest = std::span(all).last(own.size());
    for (std::size_t i = 0; i + 1 < own.size(); ++i) {
      if (own[i] != Dim(1) && own[i] != rest[i]) return false;
    }
    return true;
  }

  bool scaled(Value v, Pattern& p, int depth) {
    constexpr int kMaxDepth = 6;
    if (depth == kMaxDepth) return false;
    if (made(v, ops::MatMul)) return product(v, p);
    if (const Node* turn = made(v, ops::Transpose)) {
      Turned scores = whole(v);
      scores.turn(axes_of(*turn, scores.perm.size()));
      scores.swap_last();
      return std::ranges::is_sorted(scores.perm) && scaled(turn->in[0], p, depth + 1) && inner(v, ops::Transpose) &&
             transposed(p);
    }
    if (const Node* div = made(v, ops::Div)) {
      if (!is_scalar(div->in[1]) || !scaled(div->in[0], p, depth + 1) || !inner(v, ops::Div)) return false;
      const auto by = number(div->in[1]);
      if (by) p.scale /= *by;
      return by || put(p.divisor, div->in[1]);
    }
    const Node* mul = made(v, ops::Mul);
    for (std::size_t i = 0; mul && i < 2; ++i) {
      const Value other = mul->in[1 - i];
      if (!is_scalar(other)) continue;
      const auto by = number(other);
      if (const Node* tanh = by ? made(mul->in[i], ops::Tanh) : nullptr) {
        if (p.softcap != 0 || *by <= 0 || !scaled(tanh->in[0], p, depth + 1) || p.factor || p.divisor) return false;
        p.softcap = *by;
        p.scale *= *by;
        return inner(v, ops::Mul) && inner(mul->in[i], ops::Tanh);
      }
      if (!scaled(mul->in[i], p, depth + 1)) continue;
      if (p.softcap != 0 || !inner(v, ops::Mul)) return false;
      if (by) p.scale *= *by;
      return by || put(p.factor, other);
    }
    return false;
  }
  static bool put(Value& place, Value v) {
    if (place) return false;
    place = v;
    return true;
  }

  bool product(Value v, Pattern& p) {
    const Node* product = inner(v, ops::MatMul);
    if (!product) return false;
    p.q = peeled(product->in[0], p.scale);
    p.k = peeled(product->in[1], p.scale);
    if (p.q.perm.size() < 2 || p.k.perm.size() < 2) return false;
    p.k.swap_last();
    return true;
  }
  /// Swaps q and k: the transpose of a product is the product of the transposes.
  static bool transposed(Pattern& p) {
    std::swap(p.q, p.k);
    return true;
  }

  Turned whole(Value v) const {
    Turned t{v, {}};
    for (std::size_t i = 0; i < type(v).rank(); ++i) t.perm.push_back(i);
    return t;
  }
  /// Returns v without transposes and constant factors. Multiplies `scale` by the factors.
  Turned peeled(Value v, double& scale) const {
    Turned t = whole(v);
    for (;;) {
      if (const Node* turn = made(t.base, ops::Transpose)) {
        Perm perm;
        const Perm by = axes_of(*turn, t.perm.size());
        for (std::size_t axis : t.perm) perm.push_back(by[axis]);
        t = {turn->in[0], std::move(perm)};
        continue;
      }
      const Node* mul = made(t.base, ops::Mul);
      const Node* div = made(t.base, ops::Div);
      Value rest;
      for (std::size_t i = 0; mul && i < 2 && !rest; ++i) {
        const auto by = number(mul->in[1 - i]);
        if (by && type(mul->in[i]).rank() == t.perm.size()) rest = mul->in[i], scale *= *by;
      }
      if (const auto by = div ? number(div->in[1]) : std::nullopt; by && type(div->in[0]).rank() == t.perm.size()) {
        rest = div->in[0], scale /= *by;
      }
      if (!rest) return t;
      t.base = rest;
    }
  }

  Shape shape_of(const Turned& t) const {
    Shape shape;
    for (std::size_t axis : t.perm) shape.push_back(type(t.base).shape[axis]);
    return shape;
  }

  bool shapes_agree(const Pattern& p, const Type& scores) {
    const Shape q = shape_of(p.q), k = shape_of(p.k), &v = type(p.v).shape;
    const std::size_t n = scores.rank();
    const auto is_f32 = [&](Value x) { return type(x).elem == Elem::f32; };
    bool fits = q.size() == n && k.size() == n && v.size() == n && is_f32(p.q.base) && is_f32(p.k.base) && is_f32(p.v);
    for (std::size_t i = 0; fits && i + 2 < n; ++i) fits = q[i] == k[i] && q[i] == v[i];
    if (!fits || q[n - 1] != k[n - 1] || k[n - 2] != v[n - 2]) {
      refuse("extents of queries, keys and values are not provably equal");
      return false;
    }
    return std::isfinite(p.scale);
  }

  const Graph& graph_;
  BlockId block_;
  const Uses* uses_;
  std::string_view why_;
};

/// Returns the pattern in the new graph, if it also matches in `from`, for which uses are known.
std::optional<Pattern> pattern_at(const Site& s) {
  if (s.in.size() != 2 || s.node.in.size() != 2) return std::nullopt;
  if (!AttentionFinder(s.from, s.node.parent, &s.uses).find(s.node.in)) return std::nullopt;
  return AttentionFinder(s.graph, s.block, nullptr).find(s.in);
}

Expr turned(Builder& to, const Turned& t) {
  const Expr base{&to, t.base};
  if (std::ranges::is_sorted(t.perm)) return base;
  return ops::Transpose({base}, {.perm = Ints(t.perm.begin(), t.perm.end())});
}

Expr unsqueezed(Builder& to, Expr x, std::size_t rank) {
  constexpr std::array<std::int64_t, 2> kFront{0, 1};
  if (rank == 4) return x;
  return ops::Unsqueeze({x, to.ints(std::span(kFront).subspan(rank == 3 ? 1 : 0))});
}

/// Extends a mask over scores of `rank` axes to four axes.
Expr mask_for(Builder& to, Value v, std::size_t rank) {
  const Expr x{&to, v};
  if (!v) return to.absent();
  return rank == 3 && x.type().rank() == 3 ? unsqueezed(to, x, 3) : x;
}

Expr attend(const Site&, const Pattern& p, Builder& to) {
  const std::size_t rank = p.q.perm.size();
  Expr q = turned(to, p.q);
  if (p.factor) q = ops::Mul(q, ops::Reshape({Expr{&to, p.factor}, to.ints({})}));
  if (p.divisor) q = ops::Div(q, ops::Reshape({Expr{&to, p.divisor}, to.ints({})}));
  Expr bias = mask_for(to, p.bias[0], rank);
  if (p.bias[1]) bias = ops::Add(bias, mask_for(to, p.bias[1], rank));
  Expr keep = mask_for(to, p.keep, rank);
  if (p.keep_hides) keep = ops::Not(keep);
  ops::AttendAttrs attrs;
  attrs.scale = static_cast<float>(p.scale);
  attrs.softcap = static_cast<float>(p.softcap);
  attrs.undefined = p.undefined;
  if (p.keep) attrs.hidden = static_cast<float>(p.hidden);
  attrs.biased_hidden = p.biased_hidden;
  const Expr y = ops::Attend({unsqueezed(to, q, rank), unsqueezed(to, turned(to, p.k), rank),
                              unsqueezed(to, Expr{&to, p.v}, rank), bias, keep},
                             attrs);
  if (rank == 4) return ops::Transpose({y}, {.perm = {0, 2, 1, 3}});
  constexpr std::array<std::int64_t, 2> kGone{0, 2};
  return ops::Squeeze({y, to.ints(std::span(kGone).subspan(rank == 3 ? 1 : 0))});
}

constexpr Rule kAttentionRules[] = {
    {"attention", kOps<ops::MatMul>, "softmax(Q * Kt, with scale, soft cap and masks) * V -> Attend(Q, K, V)",
     Numerics::reassociated, found<pattern_at, attend>, true},
};

}  // namespace

std::span<const Rule> attention_rules() { return kAttentionRules; }

std::string attention_rejections(const Graph& graph) {
  std::string text;
  const Uses uses(graph);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.op != &ops::MatMul) continue;
    AttentionFinder finder(graph, node.parent, &uses);
    if (finder.find(node.in) || finder.why().empty()) continue;
    text += fmt::format("{}{} is not attention: {}", text.empty() ? "" : "; ", graph.describe(id), finder.why());
  }
  return text;
}

}  // namespace frazil::pass
