#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/graph.h"
#include "ir/op.h"

// Rewrites of one value: a pattern with a condition, and what stands for it. rules*.cc may name operators.
namespace frazil {

/// How far a replacement may be from what it replaces.
enum class Numerics : std::uint8_t {
  exact,         ///< the same bits, the payload and sign of NaN aside
  ulp,           ///< another rounding of the same function
  reassociated,  ///< sums in another order
};
std::string_view name_of(Numerics numerics);

/// Who uses the values of a graph.
struct Uses {
  explicit Uses(const Graph& graph);
  /// The only node that uses v, once; none where there are more uses, or v is a result of a block.
  std::optional<NodeId> only_user(Value v) const;
  std::vector<std::uint32_t> count;  ///< by value
  std::vector<NodeId> user;          ///< the last one
};

/// Where a rule is tried: a node of `from`, whose inputs are `in` in `graph`: `from` itself while a pass looks whether
/// there is anything to do, and then the graph in the making, where earlier rewrites have been applied.
struct Site {
  const Graph& from;
  const Node& node;
  const Graph& graph;
  std::span<const Value> in;
  const Uses& uses;  ///< in `from`
  BlockId block;     ///< of `graph`, where the node stands

  bool has(std::size_t i) const { return i < in.size() && in[i]; }
  const Type& type(std::size_t i) const { return graph.type(in[i]); }
  Elem elem(std::size_t i) const { return type(i).elem; }
  const Tensor* constant(std::size_t i) const;
  /// The node that makes input i, when it is a call of `op` that can fail nothing; else null.
  const Node* maker(std::size_t i, const OpDef& op) const { return has(i) ? maker(in[i], op) : nullptr; }
  const Node* maker(Value v, const OpDef& op) const;
  /// True when input i surely has the type of the result.
  bool same_type(std::size_t i) const;
  /// Every element of constant i is `number`, and not the other zero.
  bool is(std::size_t i, double number) const;
  template <class A>
  const A& attrs() const {
    return node.attributes<A>();
  }
};

struct Rule {
  std::string_view name;
  std::span<const OpDef* const> ops;  ///< of the node; empty: any elementwise one
  std::string_view what;              ///< "Pow(x, 2) -> Mul(x, x)"
  Numerics numerics = Numerics::exact;
  bool (*fits)(const Site& site) = nullptr;
  /// Called where it fits; the builder's errors count as no fit.
  Expr (*make)(const Site& site, Builder& to) = nullptr;
  bool checks = false;  ///< what it makes checks what the node does; else it is tried on nodes without checks only
};

/// The operators of a row.
template <const auto&... Op>
inline constexpr std::array<const OpDef*, sizeof...(Op)> kOps{&Op...};
/// Operand I in place of the node.
template <std::size_t I>
Expr keep(const Site& site, Builder& to) {
  return {&to, site.in[I]};
}

std::span<const Rule> arithmetic_rules();
std::span<const Rule> logic_rules();
std::span<const Rule> view_rules();
std::span<const Rule> reduce_rules();
/// All of those, in the order in which they are tried.
std::span<const Rule* const> algebra_rules();
std::span<const Rule> norm_rules();
std::span<const Rule> generic_rules();
/// The same for what exporters took apart, and for spaces given by attributes.
std::span<const Rule* const> recovery_rules();
std::span<const Rule> attention_rules();
std::span<const Rule> rotary_rules();
/// The same for what expands, and needs constants known.
std::span<const Rule* const> late_recovery_rules();
std::span<const Rule> batch_norm_rules();
/// The same for BatchNormalization.
std::span<const Rule* const> conv_rules();
/// The rules of all passes.
std::vector<const Rule*> all_rules();

/// The only element of an integer or boolean tensor, where inference knows it.
std::optional<std::int64_t> known(const Graph& graph, Value v);
/// True when v may be left uncomputed: nothing that it is made of can fail, `beside` aside, which is still used.
bool cannot_fail(const Graph& graph, Value v, Value beside = {});
/// True when each operand's extents are 1 or those of the result: broadcasting them tells no error when the graph runs.
bool broadcasts_surely(const Graph& graph, const Node& node);
/// The operand of an elementwise node that is not a constant of one element, where it is the only one and has the
/// result's rank.
std::optional<std::size_t> only_operand(const Graph& graph, const OpDef& op, std::span<const Value> in);
/// The input axis of each output axis of a Transpose of `rank` axes.
std::vector<std::size_t> axes_of(const Node& transpose, std::size_t rank);

}  // namespace frazil
