#include "pass/batch/row_axes.h"

#include <algorithm>

#include "ir/op/op.h"
#include "ir/op/space.h"

namespace frazil::pass {
namespace {

bool is_plain(const Ix& ix, int axis) {
  return ix.offset == Dim(0) && ix.terms.size() == 1 && ix.terms[0].first == axis && ix.terms[0].second == Dim(1);
}

bool reads_axis(const Ix& ix, int axis) {
  return std::ranges::any_of(ix.terms, [&](const auto& term) { return term.first == axis; });
}

}  // namespace

RowAxes::RowAxes(const Graph& graph, SymbolId rows, std::span<const Served> served)
    : graph_(graph),
      rows_(rows),
      count_(graph.scope().symbol_dim(rows)),
      served_(served),
      states_(graph.value_count()) {}

Result<RowAxes> RowAxes::of(const Graph& graph, SymbolId rows, std::span<const Served> served) {
  RowAxes axes(graph, rows, served);
  const auto refuse = [&](const std::string& name, const Type& type) {
    return fail(Code::unsupported, "'{}' is {}: it has no rows along '{}'", name, str(type, graph.scope()),
                graph.scope().symbol_name(rows));
  };
  for (std::size_t k = 0; k < graph.main().params.size(); ++k) {
    const Value v = graph.main().params[k];
    if (!axes.depends(graph.type(v))) continue;
    const auto axis = axes.only_axis(graph.type(v).shape);
    if (!axis) return refuse(graph.input_names()[k], graph.type(v));
    axes.states_[v.id] = {Kind::rows, *axis};
  }
  for (const NodeId n : graph.main().nodes) FRAZIL_CHECK(axes.visit(n));
  for (std::size_t k = 0; k < graph.main().results.size(); ++k) {
    const Value v = graph.main().results[k];
    if (!axes.axis(v)) return refuse(graph.output_names()[k], graph.type(v));
  }
  return axes;
}

std::optional<std::size_t> RowAxes::axis(Value v) const {
  if (!v || states_[v.id].kind != Kind::rows) return std::nullopt;
  return states_[v.id].axis;
}

bool RowAxes::depends(Dim d) const {
  return std::ranges::any_of(graph_.scope().symbols_of(d), [&](SymbolId s) {
    if (s == rows_) return true;
    if (const auto origin = graph_.origin(s)) return !is_shared(origin->value);
    if (const auto origin = graph_.extent_origin(s)) return !is_shared(origin->value);
    return false;
  });
}

bool RowAxes::depends(const Type& type) const {
  return type.is_tensor() && type.ranked && std::ranges::any_of(type.shape, [&](Dim d) { return depends(d); });
}

std::optional<std::size_t> RowAxes::only_axis(const Shape& shape) const {
  std::optional<std::size_t> only;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (!depends(shape[a])) continue;
    if (only || shape[a] != count_) return std::nullopt;
    only = a;
  }
  return only;
}

/// Returns true if a node or its blocks use a value that is not shared, or draw random numbers.
bool RowAxes::reads_rows(NodeId id) const {
  std::vector<NodeId> work{id};
  const auto any = [&](const std::vector<Value>& values) {
    return std::ranges::any_of(values, [&](Value v) { return !is_shared(v); });
  };
  while (!work.empty()) {
    const Node& node = graph_.node(work.back());
    work.pop_back();
    if (node.op->stateful || any(node.in)) return true;
    for (const BlockId b : node.blocks) {
      if (any(graph_.block(b).results)) return true;
      work.insert(work.end(), graph_.block(b).nodes.begin(), graph_.block(b).nodes.end());
    }
  }
  return std::ranges::any_of(graph_.node(id).out, [&](Value v) { return v && depends(graph_.type(v)); });
}

Status RowAxes::visit(NodeId id) {
  if (!reads_rows(id) || find(id)) return {};
  return fail_at(graph_.describe(id), Code::unsupported, "rows along '{}' cannot be joined: a result may depend on {}",
                 graph_.scope().symbol_name(rows_), "several rows, on their number or on their positions");
}

bool RowAxes::find(NodeId id) {
  const Node node = graph_.node(id);  // a copy: bodies grow the table
  const auto unusable = [&](Value v) { return v && states_[v.id].kind == Kind::unusable; };
  if (node.op->stateful || std::ranges::any_of(node.in, unusable)) return false;
  if (find_known(node) || find_served(node)) return true;
  const auto ranked = [&](Value v) { return !v || (graph_.type(v).is_tensor() && graph_.type(v).ranked); };
  if (!std::ranges::all_of(node.in, ranked) || !std::ranges::all_of(node.out, ranked)) return false;
  return std::holds_alternative<Composite>(node.op->form) ? find_in_body(node) : find_by_form(node);
}

/// Stores the states of results if their types confirm them.
bool RowAxes::set_results(const Node& node, std::span<const State> states) {
  for (std::size_t k = 0; k < node.out.size(); ++k) {
    const Value v = node.out[k];
    if (!v) continue;
    const Type& type = graph_.type(v);
    if (states[k].kind == Kind::shared && depends(type)) return false;
    if (states[k].kind == Kind::rows && only_axis(type.shape) != states[k].axis) return false;
    states_[v.id] = states[k];
  }
  return true;
}

bool RowAxes::find_served(const Node& node) {
  const auto at = std::ranges::find(served_, node.op, &Served::op);
  if (at == served_.end()) return false;
  const auto axes = at->axes(graph_, node, *this);
  if (!axes) return false;
  std::vector<State> states;
  for (const auto& axis : *axes) states.push_back(rows_along(axis).value_or(State{Kind::unusable}));
  return set_results(node, states);
}

bool RowAxes::find_by_form(const Node& node) {
  std::vector<State> states(node.out.size());
  for (std::size_t k = 0; k < states.size(); ++k) {
    if (!node.out[k]) continue;
    const Found found = std::visit([&](const auto& form) { return state_of(node, form, k); }, node.op->form);
    if (!found) return false;
    states[k] = *found;
  }
  return set_results(node, states);
}

RowAxes::Found RowAxes::rows_along(std::optional<std::size_t> axis) {
  return axis ? Found(State{Kind::rows, *axis}) : std::nullopt;
}

/// Serves nodes whose results are made of extents.
bool RowAxes::find_known(const Node& node) {
  const auto known = [&](Value v) { return !v || graph_.known_value(v) != nullptr; };
  if (!std::ranges::all_of(node.out, known)) return false;
  for (const Value v : node.out) {
    if (!v) continue;
    const bool depend = std::ranges::any_of(*graph_.known_value(v), [&](Dim d) { return depends(d); });
    states_[v.id].kind = depend ? Kind::extents : Kind::shared;
  }
  return true;
}

/// Visits the body of a composite, whose results have the axes of the node's results.
bool RowAxes::find_in_body(const Node& node) {
  Builder builder(graph_, node.parent);
  const auto mark = builder.mark();
  const std::size_t first = graph_.node_count();
  const auto made = expand(builder, *node.op, node.in, node.attrs.get(), node.out.size());
  bool found = made.has_value();
  states_.resize(graph_.value_count());
  for (std::size_t n = first; found && n < graph_.node_count(); ++n) {
    const NodeId inner{static_cast<std::uint32_t>(n)};
    if (graph_.node(inner).parent == node.parent) found = static_cast<bool>(visit(inner));
  }
  for (std::size_t k = 0; found && k < node.out.size(); ++k) {
    if (node.out[k]) states_[node.out[k].id] = states_[(*made)[k].id];
  }
  builder.rollback(mark);
  states_.resize(graph_.value_count());
  return found;
}

// ---- forms ----

RowAxes::Found RowAxes::state_of(const Node& node, const Elementwise&, std::size_t output) const {
  const std::size_t rank = graph_.type(node.out[output]).rank();
  std::optional<std::size_t> found;
  for (const Value v : node.in) {
    if (is_shared(v)) continue;
    const auto own = axis(v);
    if (!own) return std::nullopt;
    const std::size_t at = *own + rank - graph_.type(v).rank();
    if (found && found != at) return std::nullopt;
    found = at;
  }
  const auto repeats = [&](Value v) {  // a shared operand has one element for all rows
    if (!v || axis(v) || !found) return true;
    const Shape& shape = graph_.type(v).shape;
    return *found + shape.size() < rank || shape[*found + shape.size() - rank] == Dim(1);
  };
  return std::ranges::all_of(node.in, repeats) ? rows_along(found) : std::nullopt;
}

RowAxes::Found RowAxes::state_of(const Node& node, const Contraction&, std::size_t output) const {
  if (!node.space) return std::nullopt;
  const Space& space = *node.space;
  const auto is_rows = [&](const Space::Axis& a) { return depends(a.extent); };
  const auto at = std::ranges::find_if(space.axes, is_rows);
  if (at == space.axes.end() || at->reduced || std::ranges::count_if(space.axes, is_rows) != 1) return std::nullopt;
  const int rows = static_cast<int>(at - space.axes.begin());
  for (std::size_t k = 0; k < node.in.size(); ++k) {
    const bool read = node.in[k] && k < space.reads.size() && space.reads[k].size() == graph_.type(node.in[k]).rank();
    for (std::size_t d = 0; read && d < space.reads[k].size(); ++d) {
      if (depends(space.reads[k][d].offset)) return std::nullopt;
      if (axis(node.in[k]) == d ? !is_plain(space.reads[k][d], rows) : reads_axis(space.reads[k][d], rows))
        return std::nullopt;
    }
    if (!read && !is_shared(node.in[k]) && states_[node.in[k].id].kind != Kind::extents) return std::nullopt;
    if (read && !is_shared(node.in[k]) && !axis(node.in[k])) return std::nullopt;
  }
  const auto written = std::ranges::find(space.write, rows);
  if (written == space.write.end() || reads_axis(space.report, rows)) return std::nullopt;
  return rows_along(only_axis(graph_.type(node.out[output]).shape));
}

RowAxes::Found RowAxes::state_of(const Node& node, const View&, std::size_t output) const {
  if (!node.views) return std::nullopt;
  const ViewMap& map = (*node.views)[output];
  const auto source = static_cast<std::size_t>(map.source);
  bool moves_rows = false;
  for (std::size_t k = 0; k < node.in.size(); ++k) {
    const bool moved = k == source || (map.kind == ViewMap::Kind::concat && k > source);
    const bool extents = node.in[k] && static_cast<int>(k) != map.fill && states_[node.in[k].id].kind == Kind::extents;
    if (!moved && !is_shared(node.in[k]) && !extents) return std::nullopt;
    if (moved && !is_shared(node.in[k]) && !axis(node.in[k])) return std::nullopt;
    moves_rows |= moved && !is_shared(node.in[k]);
  }
  if (!moves_rows && all_dims(map, [&](Dim d) { return !depends(d); })) return State{};
  switch (map.kind) {
    case ViewMap::Kind::affine: return affine(node, map);
    case ViewMap::Kind::reshape: return reshaped(node, map);
    case ViewMap::Kind::concat: return concatenated(node, map);
  }
  return std::nullopt;
}

RowAxes::Found RowAxes::affine(const Node& node, const ViewMap& map) const {
  const auto own = axis(node.in[static_cast<std::size_t>(map.source)]);
  const auto at = only_axis(map.shape);
  if (!at) return std::nullopt;
  for (std::size_t d = 0; d < map.axes.size(); ++d) {
    const ViewMap::AxisMap& a = map.axes[d];
    if (depends(a.offset) || depends(a.step)) return std::nullopt;
    const bool rows = a.axis == static_cast<int>(*at);
    if (rows != (own == d) || (rows && (a.offset != Dim(0) || a.step != Dim(1)))) return std::nullopt;
  }
  return rows_along(at);
}

RowAxes::Found RowAxes::reshaped(const Node& node, const ViewMap& map) const {
  const Value source = node.in[static_cast<std::size_t>(map.source)];
  const auto own = axis(source), at = only_axis(map.shape);
  if (!own || !at) return std::nullopt;
  Scope scope = graph_.scope();
  const Dim before = product(scope, std::span(graph_.type(source).shape).first(*own));
  return scope.equal(before, product(scope, std::span(map.shape).first(*at))) == Proof::yes ? rows_along(at)
                                                                                            : std::nullopt;
}

RowAxes::Found RowAxes::concatenated(const Node& node, const ViewMap& map) const {
  const auto at = only_axis(map.shape);
  if (!at || static_cast<int>(*at) == map.axis) return std::nullopt;
  for (std::size_t k = static_cast<std::size_t>(map.source); k < node.in.size(); ++k) {
    if (node.in[k] && axis(node.in[k]) != at) return std::nullopt;
  }
  return rows_along(at);
}

}  // namespace frazil::pass
