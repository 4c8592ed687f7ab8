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

/// The extent to which the values of a replacement may differ.
enum class Numerics : std::uint8_t {
  exact,         ///< the same bits, except payload and sign of NaN
  ulp,           ///< a different rounding of the same function
  reassociated,  ///< sums in a different order
};
std::string_view name_of(Numerics numerics);

/// The uses of a graph's values.
struct Uses {
  explicit Uses(const Graph& graph);
  /// Returns the only node that uses v, if it uses v once. Returns nullopt for more uses, and if v is a result of a
  /// block.
  std::optional<NodeId> only_user(Value v) const;
  std::vector<std::uint32_t> count;  ///< per value
  std::vector<NodeId> user;          ///< the last user, per value
};

/// The node to which a rule is applied: a node of `from` whose inputs are `in` in `graph`. While a pass tests whether
/// any rule applies, `graph` is `from`. Afterwards, `graph` is the new graph, in which earlier rewrites are applied.
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
  /// Returns the node that produces input i, if it is a call of `op` that cannot fail; else null.
  const Node* maker(std::size_t i, const OpDef& op) const { return has(i) ? maker(in[i], op) : nullptr; }
  const Node* maker(Value v, const OpDef& op) const;
  /// Returns the same node if it is in the block of the replacement; else null.
  const Node* maker_here(Value v, const OpDef& op) const;
  /// Returns true if input i provably has the type of the result.
  bool same_type(std::size_t i) const;
  /// Returns true if every element of constant i is `number`. Zeros compare with their sign.
  bool is(std::size_t i, double number) const;
  template <class A>
  const A& attrs() const {
    return node.attributes<A>();
  }
};

inline bool same_operands(const Site& s) { return s.in[0] == s.in[1]; }

/// Writes the replacement of a node. Returns an absent or poisoned Expr if the rule does not apply after all. It must
/// not outlive the site that matched.
using Replacement = std::function<Expr(Builder& to)>;

struct Rule {
  std::string_view name;
  std::span<const OpDef* const> ops;  ///< operators of the node; empty: any elementwise one
  std::string_view what;              ///< "Pow(x, 2) -> Mul(x, x)"
  Numerics numerics = Numerics::exact;
  Replacement (*match)(const Site& site) = nullptr;  ///< returns an empty function if the pattern is absent
  bool checks = false;                               ///< also for nodes with checks: the replacement repeats them
};

/// The operators of a rule.
template <const auto&... Op>
inline constexpr std::array<const OpDef*, sizeof...(Op)> kOps{&Op...};
/// A match function that tests a condition.
template <auto Fits, auto Make>
Replacement when(const Site& site) {
  if (!Fits(site)) return {};
  return [&site](Builder& to) { return Make(site, to); };
}
/// A match function that passes what `Find` returns, an optional or a pointer, to `Make`.
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
/// Returns all of the above, in the order in which they are tried.
std::span<const Rule* const> algebra_rules();
std::span<const Rule> norm_rules();
std::span<const Rule> generic_rules();
std::span<const Rule> quant_rules();
/// Returns the rules that recover composites from expansions of exporters, and operators from spaces given by
/// attributes.
std::span<const Rule* const> recovery_rules();
std::span<const Rule> attention_rules();
std::span<const Rule> rotary_rules();
/// Returns the recovery rules that run after expansion and constant folding.
std::span<const Rule* const> late_recovery_rules();
std::span<const Rule> batch_norm_rules();
std::span<const Rule> scale_rules();
/// Returns the rules for BatchNormalization, and for scales and offsets of channels.
std::span<const Rule* const> conv_rules();
/// Returns the rules of all passes.
std::vector<const Rule*> all_rules();

/// Returns the value of an integer or bool tensor with one element, if inference knows it.
std::optional<std::int64_t> known(const Graph& graph, Value v);
/// Returns true if v need not be computed: nothing it depends on can fail, except `beside`, which remains in use.
bool cannot_fail(const Graph& graph, Value v, Value beside = {});
/// Returns true if each operand's extents are 1 or those of the result, so that broadcasting cannot fail at run time.
bool is_safe_broadcast(const Graph& graph, const Node& node);
/// Returns the operand of an elementwise node that is not a one-element constant. Returns nullopt unless there is
/// exactly one such operand and it has the result's rank.
std::optional<std::size_t> only_operand(const Graph& graph, const OpDef& op, std::span<const Value> in);
/// Returns the input axis of each output axis of a Transpose of `rank` axes.
std::vector<std::size_t> axes_of(const Node& transpose, std::size_t rank);

}  // namespace frazil::pass
