#include "pass/engine/rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ops/view/view.h"
#include "pass/layout/layout_rules.h"

namespace frazil::pass {

std::string_view name_of(Numerics numerics) {
  constexpr std::array<std::string_view, 3> names{"exact", "ulp", "reassociated"};
  return names[static_cast<std::size_t>(numerics)];
}

const Tensor* Site::constant(std::size_t i) const {
  const Constant* c = has(i) ? graph.constant(in[i]) : nullptr;
  return c ? &c->tensor : nullptr;
}

const Node* Site::maker(Value v, const OpDef& op) const {
  const auto id = graph.producer(v);
  if (!id) return nullptr;
  const Node& made = graph.node(*id);
  return made.op == &op && made.constraints.empty() ? &made : nullptr;
}

const Node* Site::maker_here(Value v, const OpDef& op) const {
  const Node* made = v ? maker(v, op) : nullptr;
  return made && made->parent == block ? made : nullptr;
}

bool Site::same_type(std::size_t i) const {
  const Type& result = from.type(node.out[0]);
  return result.is_tensor() && result.ranked && i < node.in.size() && node.in[i] && from.type(node.in[i]) == result &&
         type(i).ranked;
}

bool Site::is(std::size_t i, double number) const {
  const Tensor* t = constant(i);
  constexpr std::int64_t kMaximum = 4096;
  if (!t || t->elem() == Elem::string || t->count() == 0 || t->count() > kMaximum) return false;
  for (std::int64_t k = 0; k < t->count(); ++k) {
    const double x = t->number_at(k);
    if (x != number || (is_float(t->elem()) && std::signbit(x) != std::signbit(number))) return false;
  }
  return true;
}

namespace {

std::vector<const Rule*> joined(std::initializer_list<std::span<const Rule>> tables) {
  std::vector<const Rule*> list;
  for (const auto rules : tables) {
    for (const Rule& rule : rules) list.push_back(&rule);
  }
  return list;
}

}  // namespace

std::span<const Rule* const> algebra_rules() {
  static const auto all = joined({arithmetic_rules(), logic_rules(), view_rules(), reduce_rules()});
  return all;
}

std::span<const Rule* const> recovery_rules() {
  static const auto all = joined({norm_rules(), generic_rules(), quant_rules()});
  return all;
}

std::span<const Rule* const> late_recovery_rules() {
  static const auto all = joined({rotary_rules(), attention_rules()});
  return all;
}

std::span<const Rule* const> conv_rules() {
  static const auto all = joined({batch_norm_rules(), scale_rules()});
  return all;
}

std::vector<const Rule*> all_rules() {
  auto all = joined({norm_rules(), generic_rules(), quant_rules(), batch_norm_rules(), scale_rules(), rotary_rules(),
                     attention_rules(), arithmetic_rules(), logic_rules(), view_rules(), reduce_rules()});
  std::ranges::copy(layout_rules(), std::back_inserter(all));
  return all;
}

std::optional<std::int64_t> known(const Graph& graph, Value v) {
  const std::vector<Dim>* known = v ? graph.known_value(v) : nullptr;
  if (!known || known->size() != 1 || !(*known)[0].is_const()) return std::nullopt;
  return (*known)[0].value();
}

namespace {

/// Checks that computing a value has no effects. If only extents are read, nodes do not run, but their checks do.
struct Harmless {
  const Graph& graph;
  Value beside;

  bool value(Value v, bool runs, int depth) const {
    const auto id = v && v != beside ? graph.producer(v) : std::nullopt;
    if (!id) return true;
    const Node& node = graph.node(*id);
    if (depth == 0 || !node.constraints.empty() || !node.blocks.empty()) return false;
    runs = runs && !graph.known_value(v);
    if (runs && !std::holds_alternative<Elementwise>(node.op->form)) return false;
    if (std::holds_alternative<Elementwise>(node.op->form) && !is_safe_broadcast(graph, node)) return false;
    return std::ranges::all_of(node.in,
                               [&](Value in) { return !in || (graph.type(in).ranked && value(in, runs, depth - 1)); });
  }
};

}  // namespace

bool is_safe_broadcast(const Graph& graph, const Node& node) {
  const Shape& result = graph.type(node.out[0]).shape;
  return std::ranges::all_of(node.in, [&](Value v) {
    if (!v) return true;
    const Type& type = graph.type(v);
    if (!type.is_tensor() || !type.ranked || type.rank() > result.size()) return false;
    const auto last = std::span(result).last(type.rank());
    return std::ranges::equal(type.shape, last, [](Dim own, Dim all) { return own == Dim(1) || own == all; });
  });
}

bool cannot_fail(const Graph& graph, Value v, Value beside) {
  constexpr int kMaxDepth = 8;
  return Harmless{graph, beside}.value(v, true, kMaxDepth);
}

Uses::Uses(const Graph& graph) : count(graph.value_count()), user(graph.value_count()) {
  const auto add = [&](const std::vector<Value>& values, NodeId by) {
    for (Value v : values) {
      if (!v) continue;
      ++count[v.id];
      user[v.id] = by;
    }
  };
  for (std::uint32_t b = 0; b < graph.block_count(); ++b) {
    for (NodeId id : graph.block({b}).nodes) add(graph.node(id).in, id);
    add(graph.block({b}).results, {});
  }
}

std::optional<NodeId> Uses::only_user(Value v) const {
  if (count[v.id] != 1 || !user[v.id]) return std::nullopt;
  return user[v.id];
}

std::optional<std::size_t> only_operand(const Graph& graph, const OpDef& op, std::span<const Value> in) {
  if (!std::holds_alternative<Elementwise>(op.form)) return std::nullopt;
  std::optional<std::size_t> found;
  std::size_t rank = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i] || !graph.type(in[i]).ranked) return std::nullopt;
    const Constant* constant = graph.constant(in[i]);
    const bool single = constant && constant->tensor.count() == 1;
    if (!single && found) return std::nullopt;
    if (!single) found = i;
    rank = std::max(rank, graph.type(in[i]).rank());
  }
  if (found && graph.type(in[*found]).rank() != rank) return std::nullopt;
  return found;
}

std::vector<std::size_t> axes_of(const Node& transpose, std::size_t rank) {
  const Ints& given = transpose.attributes<ops::TransposeAttrs>().perm;
  std::vector<std::size_t> axes(given.empty() ? rank : given.size());
  if (given.empty()) std::iota(axes.rbegin(), axes.rend(), 0);
  std::ranges::transform(given, axes.begin(), [&](std::int64_t axis) {
    return static_cast<std::size_t>(axis) + (axis < 0 ? given.size() : 0);
  });
  return axes;
}

}  // namespace frazil::pass
