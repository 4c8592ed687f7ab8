#include "pass/layout/layout_choice.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <unordered_map>

#include <fmt/format.h>

namespace frazil::pass {
namespace {

constexpr std::int64_t kAssumedExtent = 64;  ///< assumed for an extent that is not known

/// Returns the rules for an operator, in the order in which they are tried.
std::span<const LayoutRule* const> rules_for(const OpDef& op) {
  using Rules = std::vector<const LayoutRule*>;
  static const auto by_op = [] {
    std::unordered_map<const OpDef*, Rules> map;
    for (const auto rules : {window_layout_rules(), fold_layout_rules(), move_layout_rules()}) {
      for (const LayoutRule& rule : rules) {
        if (rule.row.ops.empty()) map[nullptr].push_back(&rule);
        for (const OpDef* each : rule.row.ops) map[each].push_back(&rule);
      }
    }
    return map;
  }();
  const auto at = by_op.find(std::holds_alternative<Elementwise>(op.form) ? nullptr : &op);
  return at != by_op.end() ? std::span<const LayoutRule* const>(at->second) : std::span<const LayoutRule* const>();
}

bool any_convolution(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](NodeId id) {
    return std::ranges::any_of(rules_for(*graph.node(id).op), &LayoutRule::anchor);
  });
}

std::uint32_t root_of(std::vector<std::uint32_t>& up, std::uint32_t i) {
  while (up[i] != i) i = up[i] = up[up[i]];
  return i;
}

}  // namespace

LayoutChoice::LayoutChoice(const Graph& graph, const PassOptions& options)
    : graph_(graph),
      sizes_(graph.scope().symbol_count(), kAssumedExtent),
      absorbed_(graph.node_count()),
      by_node_(graph.node_count(), kNone),
      maker_(graph.value_count(), kNone),
      takers_(graph.value_count()),
      plain_(graph.value_count()) {
  if (!any_convolution(graph)) return;
  find_units(options);
  link();
  start();
  constexpr int kMaxSweeps = 8;
  for (int sweep = 0; sweep < kMaxSweeps && improve(); ++sweep) continue;
  drop_losses();
  for (const Unit& unit : units_) {
    for (NodeId id : unit.change.absorbed) absorbed_[id.id] = unit.last;
  }
}

bool LayoutChoice::any() const {
  return std::ranges::any_of(units_, [](const Unit& unit) { return unit.last; });
}

const LayoutChoice::Unit* LayoutChoice::unit_of(NodeId id) const {
  const std::uint32_t at = by_node_[id.id];
  return at != kNone && units_[at].last ? &units_[at] : nullptr;
}

std::string LayoutChoice::str() const {
  std::map<std::string_view, std::size_t> applied;
  for (const Unit& unit : units_) {
    if (unit.last) ++applied[unit.rule ? unit.rule->row.name : "regions' values"];
  }
  std::size_t transposed = 0;
  for (std::uint32_t v = 0; v < graph_.value_count(); ++v) transposed += has_to_move({v});
  std::string text;
  for (const auto& [name, count] : applied) text += fmt::format("{} x{}, ", name, count);
  return text + fmt::format("{} images transposed", transposed);
}

// ---- units ----

void LayoutChoice::find_units(const PassOptions& options) {
  const Uses uses(graph_);
  for (const NodeId id : graph_.nodes()) add_units(id, uses, options);
  leave_absorbed();
  for (std::uint32_t u = 0; u < units_.size(); ++u) {
    if (units_[u].rule) by_node_[units_[u].node.id] = u;
    units_[u].gain = gain(units_[u]);
  }
}

void LayoutChoice::add_units(NodeId id, const Uses& uses, const PassOptions& options) {
  const Node& node = graph_.node(id);
  if (!node.blocks.empty()) {
    for (LayoutChange& change : region_layout_changes(graph_, node)) units_.push_back({id, nullptr, std::move(change)});
    return;
  }
  if (!node.constraints.empty()) return;
  for (const LayoutRule* rule : rules_for(*node.op)) {
    auto change = rule->match({graph_, id, node, uses, options});
    if (!change) continue;
    units_.push_back({id, rule, std::move(*change)});
    return;
  }
}

/// Removes the units of nodes whose work another unit includes.
void LayoutChoice::leave_absorbed() {
  for (const Unit& unit : units_) {
    for (NodeId id : unit.change.absorbed) absorbed_[id.id] = true;
  }
  std::erase_if(units_, [&](const Unit& unit) { return absorbed_[unit.node.id]; });
}

std::vector<Value> LayoutChoice::images(const Unit& unit) const {
  std::vector<Value> all = unit.change.image_inputs;
  all.insert(all.end(), unit.change.image_outputs.begin(), unit.change.image_outputs.end());
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

void LayoutChoice::link() {
  for (std::uint32_t u = 0; u < units_.size(); ++u) {
    for (Value v : units_[u].change.image_inputs) takers_[v.id].push_back(u);
    for (Value v : units_[u].change.image_outputs) maker_[v.id] = u;
  }
  for (const NodeId id : graph_.nodes()) count_plain_uses(id);
  for (std::uint32_t b = 0; b < graph_.block_count(); ++b) {
    const Block& block = graph_.block({b});
    for (std::size_t k = 0; k < block.results.size(); ++k) {
      const Value into = block.owner ? becomes(graph_, graph_.node(block.owner), k) : Value{};
      if (block.results[k] && !(into && maker_[into.id] != kNone)) plain_[block.results[k].id] = true;
    }
  }
}

void LayoutChoice::count_plain_uses(NodeId id) {
  const Node& node = graph_.node(id);
  const auto is_known = [&](Value v) { return !v || graph_.known_value(v) != nullptr; };
  if (absorbed_[id.id] || (node.blocks.empty() && std::ranges::all_of(node.out, is_known))) return;
  const auto is_taken = [&](Value v) {
    return std::ranges::any_of(takers_[v.id], [&](std::uint32_t u) { return units_[u].node == id; });
  };
  for (Value v : node.in) {
    if (v && !is_taken(v)) plain_[v.id] = true;
  }
}

// ---- gains and costs ----

double LayoutChoice::elements(Value v) const {
  const Type& type = graph_.type(v);
  if (graph_.constant(v) || transposes_in_place(type)) return 0;
  constexpr double kByteMove = 0.5;  // relative to a move of four bytes
  double count = byte_size(type.elem) == 1 ? kByteMove : 1;
  for (Dim d : type.shape) {
    count *= static_cast<double>(eval(graph_.scope(), d, sizes_).value_or(kAssumedExtent));
  }
  return count;
}

double LayoutChoice::gain(const Unit& unit) const {
  const LayoutChange& change = unit.change;
  return change.gain == 0
             ? 0
             : change.gain * elements(change.image_outputs.empty() ? change.image_inputs[0] : change.image_outputs[0]);
}

bool LayoutChoice::has_to_move(Value v) const {
  const bool last = is_last(v);
  const auto differs = [&](std::uint32_t u) { return units_[u].last != last; };
  return (last && plain_[v.id]) || std::ranges::any_of(takers_[v.id], differs);
}

double LayoutChoice::moved_around(const Unit& unit) const {
  double moved = 0;
  for (Value v : images(unit)) moved += has_to_move(v) ? elements(v) : 0;
  return moved;
}

// ---- the choice ----

/// Returns a number per unit that connected units share. With `of_last`, only units with channels last connect.
std::vector<std::uint32_t> LayoutChoice::components(bool of_last) const {
  std::vector<std::uint32_t> up(units_.size());
  std::iota(up.begin(), up.end(), 0);
  for (std::uint32_t v = 0; v < takers_.size(); ++v) {
    std::uint32_t first = maker_[v];
    for (std::uint32_t u : takers_[v]) {
      if (of_last && !units_[u].last) continue;
      if (first == kNone || (of_last && !units_[first].last)) first = u;
      up[root_of(up, u)] = root_of(up, first);
    }
  }
  for (std::uint32_t u = 0; u < up.size(); ++u) up[u] = root_of(up, u);
  return up;
}

void LayoutChoice::start() {
  const auto component = components(false);
  std::vector<bool> anchored(units_.size());
  for (std::uint32_t u = 0; u < units_.size(); ++u) {
    if (units_[u].rule && units_[u].rule->anchor) anchored[component[u]] = true;
  }
  for (std::uint32_t u = 0; u < units_.size(); ++u) units_[u].last = anchored[component[u]];
}

/// Changes each unit for which that is better, from the last one on. Returns false if none has changed.
bool LayoutChoice::improve() {
  bool changed = false;
  for (Unit& unit : std::views::reverse(units_)) {
    const double before = moved_around(unit) - (unit.last ? unit.gain : 0);
    unit.last = !unit.last;
    const double after = moved_around(unit) - (unit.last ? unit.gain : 0);
    // In a tie, the image is transposed after an elementwise node, whose result may have fewer bytes.
    const bool elementwise = unit.rule != nullptr && unit.rule->row.ops.empty();
    const bool outside = std::ranges::none_of(unit.change.image_inputs, [&](Value v) { return is_last(v); });
    const bool better = after < before || (after == before && !unit.last && elementwise && outside);
    if (!better) unit.last = !unit.last;
    changed = changed || better;
  }
  return changed;
}

/// Returns components to channels second if their convolutions save less than the moves around them cost.
void LayoutChoice::drop_losses() {
  const auto component = components(true);
  std::vector<double> net(units_.size());
  for (std::uint32_t u = 0; u < units_.size(); ++u) net[component[u]] += units_[u].last ? units_[u].gain : 0;
  for (std::uint32_t v = 0; v < takers_.size(); ++v) {
    if (!has_to_move({v})) continue;
    std::uint32_t payer = is_last({v}) ? maker_[v] : kNone;
    for (std::uint32_t u : takers_[v]) {
      if (payer == kNone && units_[u].last) payer = u;
    }
    net[component[payer]] -= elements({v});
  }
  for (std::uint32_t u = 0; u < units_.size(); ++u) units_[u].last = units_[u].last && net[component[u]] > 0;
}

}  // namespace frazil::pass
