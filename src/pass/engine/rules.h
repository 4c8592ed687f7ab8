#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/edit/builder.h"
#include "ir/graph/graph.h"
#include "ir/op/op.h"

// Rewrite rules of single values: a pattern, a condition and a replacement. rules*.cc may name operators.
namespace frazil::pass {

/// How much the values of a replacement may differ.
enum class Numerics : std::uint8_t {
  exact,         ///< the same bits, except payload and sign of NaN
  ulp,           ///< a different rounding of the same function
  reassociated,  ///< sums in a different order
};
std::string_view name_of(Numerics numerics);

/// The uses of a graph's values.
struct Uses {
  explicit Uses(const Graph& graph);
  /// The only node that uses v, when it uses it once; nullopt for more uses, and when v is a result of a block.
  std::optional<NodeId> only_user(Value v) const;
  std::vector<std::uint32_t> count;  ///< per value
  std::vector<NodeId> user;          ///< the last user, per value
};

/// The node to which a rule is applied: a node of `from` whose inputs are `in` in `graph`. While a pass tests whether
/// any rule applies, `graph` is `from`; afterwards it is the new graph, in which earlier rewrites are applied.
struct Site {
  const Graph& from;
  const Node& node;
  const Graph& graph;
  std::span<const Value> in;
  const Uses& uses;  ///< of `from`
  BlockId block;     ///< the block of `graph` for the replacement

  bool has(std::size_t i) const { return i < in.size() && in[i]; }
  const Type& type(std::size_t i) const { return graph.type(in[i]); }
  Elem elem(std::size_t i) const { return type(i).elem; }
  const Tensor* constant(std::size_t i) const;
  /// The node that produces input i, when it is a call of `op` that cannot fail; else null.
  const Node* maker(std::size_t i, const OpDef& op) const { return has(i) ? maker(in[i], op) : nullptr; }
  const Node* maker(Value v, const OpDef& op) const;
  /// The same node if it is in the block of the replacement; else null.
  const Node* maker_here(Value v, const OpDef& op) const;
  /// True when input i provably has the type of the result.
  bool same_type(std::size_t i) const;
  /// True when every element of constant i is `number`; zeros compare with their sign.
  bool is(std::size_t i, double number) const;
  template <class A>
  const A& attrs() const {
    return node.attributes<A>();
  }
};

inline bool same_operands(const Site& s) { return s.in[0] == s.in[1]; }

/// Writes what replaces a node; an absent or poisoned Expr where the rule does not apply after all. It lives no longer
/// than the site that matched.
using Replacement = std::function<Expr(Builder& to)>;

struct Rule {
  std::string_view name;
  std::span<const OpDef* const> ops;  ///< of the node; empty: any elementwise one
  std::string_view what;              ///< "Pow(x, 2) -> Mul(x, x)"
  Numerics numerics = Numerics::exact;
  Replacement (*match)(const Site& site) = nullptr;  ///< empty: the pattern is not there
  bool checks =
      false;  ///< the replacement repeats the node's checks; other rules are tried on nodes without checks only
};

/// The operators of a rule.
template <const auto&... Op>
inline constexpr std::array<const OpDef*, sizeof...(Op)> kOps{&Op...};
/// A match by a condition.
template <auto Fits, auto Make>
Replacement when(const Site& site) {
  if (!Fits(site)) return {};
  return [&site](Builder& to) { return Make(site, to); };
}
/// A match by what `Find` finds: an optional or a pointer. `Make` gets it.
template <auto Find, auto Make>
Replacement found(const Site& site) {
  auto pattern = Find(site);
  if (!pattern) return {};
  return [&site, pattern = std::move(pattern)](Builder& to) { return Make(site, *pattern, to); };
}
/// Replaces the node by operand I.
template <std::size_t I>
Expr keep(const Site& site, Builder& to) {
  return {&to, site.in[I]};
}

std::span<const Rule> arithmetic_rules();
std::span<const Rule> logic_rules();
std::span<const Rule> view_rules();
std::span<const Rule> reduce_rules();
/// All of the above, in the order in which they are tried.
std::span<const Rule* const> algebra_rules();
std::span<const Rule> norm_rules();
std::span<const Rule> generic_rules();
std::span<const Rule> quant_rules();
/// Rules that recover composites from the expansions written by exporters, and from spaces given by attributes.
std::span<const Rule* const> recovery_rules();
std::span<const Rule> attention_rules();
std::span<const Rule> rotary_rules();
/// Recovery rules that run after expansion and constant folding.
std::span<const Rule* const> late_recovery_rules();
std::span<const Rule> batch_norm_rules();
std::span<const Rule> scale_rules();
/// The rules for BatchNormalization, and for scales and offsets of channels.
std::span<const Rule* const> conv_rules();
/// The rules of all passes.
std::vector<const Rule*> all_rules();

/// The value of an integer or boolean tensor with one element, when inference knows it.
std::optional<std::int64_t> known(const Graph& graph, Value v);
/// True when v need not be computed: nothing it depends on can fail, except `beside`, which remains in use.
bool cannot_fail(const Graph& graph, Value v, Value beside = {});
/// True when each operand's extents are 1 or those of the result, so that broadcasting cannot fail at run time.
bool broadcasts_surely(const Graph& graph, const Node& node);
/// The operand of an elementwise node that is not a one-element constant, when there is exactly one and it has the
/// result's rank.
std::optional<std::size_t> only_operand(const Graph& graph, const OpDef& op, std::span<const Value> in);
/// The input axis of each output axis of a Transpose of `rank` axes.
std::vector<std::size_t> axes_of(const Node& transpose, std::size_t rank);

}  // namespace frazil::pass
