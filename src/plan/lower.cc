#include "plan/lower.h"

#include <algorithm>

#include "kernel/copy.h"
#include "kernel/edges.h"

namespace frazil {

Lowering::Lowering(Graph& graph, const Needs& needs, const Fusion& fusion, PassSet passes, Plan& plan)
    : graph_(graph),
      scope_(graph.scope_),
      needs_(needs),
      fusion_(fusion),
      passes_(passes),
      plan_(plan),
      slot_of_(graph.value_count(), kNone) {}

Status Lowering::run() {
  prepare_flows();
  find_appends();
  prepare_picks();
  regs_.emplace(scope_, plan_.groups, static_cast<std::uint32_t>(scope_.symbol_count()));
  define_inputs();
  frames_.push_back({Graph::kMain});
  while (!frames_.empty()) {
    Frame& f = frames_.back();
    if (f.flow >= 0) {
      FlowState& state = flows_[static_cast<std::size_t>(f.flow)];
      if (state.pc < state.flow.ops.size()) {
        FRAZIL_CHECK(flow_step(state));
        continue;
      }
      end_flow(state);
      flows_.pop_back();
      frames_.pop_back();
      continue;
    }
    const auto& nodes = graph_.block(f.block).nodes;
    if (f.next == nodes.size()) {
      frames_.pop_back();
      continue;
    }
    FRAZIL_CHECK(node(nodes[f.next++]));
  }
  FRAZIL_CHECK(define_outputs());
  emit({});
  plan_.registers = regs_->count();
  if (const auto missing = regs_->missing()) {
    return fail(Code::internal, "no step of the plan gives symbol '{}' a value", scope_.symbol_name(*missing));
  }
  return {};
}

void Lowering::symbol_groups(std::vector<std::uint32_t>& of) const {
  for (SymbolId s = 0; s < scope_.symbol_count(); ++s) {
    if (regs_->is_bound(s)) of[s] = regs_->group_of_reg(s);
  }
}

void Lowering::define_inputs() {
  const auto& params = graph_.main().params;
  for (Value v : params) {
    for (Dim d : graph_.type(v).shape) {
      if (const auto s = scope_.as_symbol(d)) regs_->bind(*s, 0);
    }
  }
  for (Value v : params) open_append(v);
  eval(0);
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Type& type = graph_.type(params[i]);
    const Append* append = append_of(params[i]);
    const std::uint32_t storage =
        new_storage(is_object(type) ? Place::object : Place::input, static_cast<std::uint32_t>(i));
    spaced_[storage] = append != nullptr;
    const Layout layout =
        append != nullptr ? spaced(type.shape, *append, append->input_capacity) : row_major(type.shape);
    const std::uint32_t s = new_slot(params[i], type, storage, layout);
    if (append != nullptr) eval_symbol(append->capacity);
    slot_of_[params[i].id] = s;
    plan_.inputs.push_back(s);
    std::vector<Plan::InputDim> dims;
    for (Dim d : type.shape) {
      Plan::InputDim in;
      if (d.is_const())
        in.constant = d.value();
      else if (const auto symbol = scope_.as_symbol(d))
        in.symbol = *symbol;
      else
        in.equals = regs_->reg(d);
      dims.push_back(in);
    }
    plan_.input_dims.push_back(std::move(dims));
  }
  for (Value v : params) after_definition(v);
}

/// False for a view whose bytes are those of its storage only if a check holds: the storage is then not the result's.
bool Lowering::fills_storage(std::uint32_t slot) {
  const Storage& storage = plan_.storages[plan_.slots[slot].storage];
  if (plan_.slots[slot].object || storage.place != Place::arena) return true;
  const auto size = static_cast<std::int64_t>(byte_size(plan_.slots[slot].elem));
  return regs_->reg(scope_.mul(scope_.product(layouts_[slot].shape), size)) == storage.bytes;
}

std::uint32_t Lowering::copied(std::uint32_t slot) {
  const std::uint32_t made = temp_like(slot);
  copy(slot, made, {});
  return made;
}

Status Lowering::define_outputs() {
  for (Value v : graph_.main().results) plan_.outputs.push_back(fills_storage(slot(v)) ? slot(v) : copied(slot(v)));
  return {};
}

void Lowering::after_definition(Value v) {
  const auto& bound = needs_.bound_by(v);
  if (bound.empty()) return;
  const std::uint32_t group = regs_->new_group();
  const std::uint32_t from = slot(v);
  Step s;
  s.kind = Step::Kind::bind;
  s.in = {contiguous(from, {})};
  for (auto [symbol, element] : bound) {
    s.pairs.emplace_back(symbol, element);
    regs_->bind(symbol, group);
  }
  emit(std::move(s));
  eval(group);
}

/// Checks stand where their node does: a branch that is not taken may contradict its constraints.
void Lowering::checks(NodeId id) {
  for (const Constraint& c : graph_.node(id).constraints) check(c, id);
}

void Lowering::check(const Constraint& c, NodeId node) {
  Step s;
  s.kind = Step::Kind::check;
  s.node = node;
  s.index = static_cast<std::uint32_t>(plan_.checks.size());
  plan_.checks.push_back({regs_->reg(c.a), regs_->reg(c.b), node, c.what});
  emit(std::move(s));
}

Status Lowering::node(NodeId id) {
  for (Value v : graph_.node(id).out) {
    if (v && needs_.value(v) && Needs::is_known(graph_, v)) known_content(v, id);
  }
  if (!needs_.node(id)) {
    if (needs_.reached(id)) checks(id);
    return {};
  }
  const Node& n = graph_.node(id);
  checks(id);
  if (std::holds_alternative<Region>(n.op->form)) {
    begin_flow(id);
    return {};
  }
  if (std::holds_alternative<View>(n.op->form) && !is_object(graph_.type(n.in[0])) &&
      !has_unranked_operand(graph_, id)) {
    return view(id);
  }
  if (const auto axis = picked_axis(graph_, id)) {
    pick(id, *axis);
    return {};
  }
  if (const FusionGroup* group = fusion_.group(id)) {
    if (group->members.back() == id) compute(*group);
    return {};
  }
  compute(id, fusion_.binding(id).value_or(Binding{}));
  return {};
}

void Lowering::known_content(Value v, NodeId id) {
  const std::uint32_t made = own_slot(v, graph_.type(v));
  slot_of_[v.id] = made;
  Step s;
  s.kind = Step::Kind::store;
  s.node = id;
  s.out = {made};
  const auto& content = *graph_.content(v);
  for (std::size_t i = 0; i < content.size(); ++i) {
    s.pairs.emplace_back(static_cast<std::uint32_t>(i), regs_->reg(content[i]));
  }
  emit(std::move(s));
}

/// The kernel of a node with its parameters and operands.
void Lowering::bind_operands(Step& s, NodeId id, const Binding& binding) {
  s.kernel = binding.kernel;
  s.ints = binding.ints;
  s.reals = binding.reals;
  for (Value v : graph_.node(id).in) {
    if (!v) {
      s.in.push_back(kNone);
      continue;
    }
    const std::uint32_t in = slot(v);
    s.in.push_back(binding.strided ? in : contiguous(in, id));
  }
}

/// A computing step: operands in, results into storages of their own. Extents that only the run tells are written by
/// the step itself: pairs are (symbol, output << 8 | axis).
void Lowering::compute(NodeId id, const Binding& binding) {
  const Node& n = graph_.node(id);
  Step s;
  s.kind = Step::Kind::kernel;
  s.node = id;
  s.in_place = binding.in_place;
  bind_operands(s, id, binding);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> made;
  std::vector<SymbolId> symbols;
  for (std::size_t k = 0; k < n.out.size(); ++k) {
    if (!n.out[k]) continue;
    const Shape& shape = graph_.type(n.out[k]).shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto symbol = scope_.as_symbol(shape[axis]);
      if (!symbol || regs_->is_bound(*symbol)) continue;
      symbols.push_back(*symbol);
      made.emplace_back(*symbol, static_cast<std::uint32_t>(k << 8 | axis));
    }
  }
  s.pairs = std::move(made);
  std::uint32_t group = 0;
  if (!symbols.empty()) {
    group = regs_->new_group();
    for (SymbolId symbol : symbols) regs_->bind(symbol, group);
  }
  for (Value v : n.out) {
    if (!v) {
      s.out.push_back(kNone);
      continue;
    }
    make_result(s, v);
  }
  emit(std::move(s));
  if (group != 0) eval(group);
  for (Value v : n.out) {
    if (v && !needs_.bound_by(v).empty()) after_definition(v);
  }
}

/// A known value that is also computed keeps the slot of its content.
void Lowering::make_result(Step& step, Value v) {
  const std::uint32_t out = own_slot(v, graph_.type(v));
  slot_of_[v.id] = out;
  renamable_[plan_.slots[out].storage] = !plan_.slots[out].object;
  step.out.push_back(out);
}

std::uint32_t Lowering::add_program(const FusionGroup& group) {
  plan_.programs.push_back(group.program);
  return static_cast<std::uint32_t>(plan_.programs.size() - 1);
}

void Lowering::compute(const FusionGroup& group) {
  Step s;
  s.kind = Step::Kind::kernel;
  s.kernel = Kernel::tile;
  if (group.before) {
    const Value made = group.before->outputs[0];
    const Type& type = graph_.type(made);
    slot_of_[made.id] = new_slot(made, type, new_storage(Place::parts), row_major(type.shape));
  }
  if (group.product) {
    bind_operands(s, group.product, *fusion_.binding(group.product));
    if (group.slope != 1) s.reals.push_back(group.slope);
    if (group.bias) s.in.push_back(contiguous(slot(group.bias), group.members.back()));
    s.base = group.base;
  }
  s.node = group.members.back();
  if (group.members.size() > 1) s.members = group.members;
  s.in_place = !group.product;
  s.heads = static_cast<std::uint32_t>(group.product ? s.in.size() : 0);
  if (!group.product || group.program.code.size() > 1 || group.outputs.size() > 1) s.program = add_program(group);
  for (Dim d : group.space) s.space.push_back(regs_->reg(d));
  for (Value v : std::span(group.inputs).subspan(group.product ? 1 : 0)) s.in.push_back(slot(v));
  if (group.before) {
    s.before = add_program(*group.before);
    s.tails = static_cast<std::uint32_t>(group.before->inputs.size());
    for (Value v : group.before->inputs) s.in.push_back(slot(v));
  }
  for (Value v : group.outputs) make_result(s, v);
  emit(std::move(s));
  for (Value v : group.outputs) {
    if (!needs_.bound_by(v).empty()) after_definition(v);
  }
}

Status Lowering::view(NodeId id) {
  const auto& maps = needs_.views(id);
  const Node& n = graph_.node(id);
  for (std::size_t k = 0; k < n.out.size(); ++k) {
    const Value out = n.out[k];
    if (!out || !needs_.value(out) || Needs::is_known(graph_, out)) continue;
    FRAZIL_CHECK(view_output(id, maps[k], out));
    after_definition(out);
  }
  return {};
}

Status Lowering::view_output(NodeId id, const ViewMap& map, Value out) {
  const Node& n = graph_.node(id);
  switch (map.kind) {
    case ViewMap::Kind::concat:
      if (!append(id, map, out)) concat(id, map, out);
      return {};
    case ViewMap::Kind::affine: return affine(id, map, out);
    case ViewMap::Kind::reshape: {
      const std::uint32_t from = slot(n.in[static_cast<std::size_t>(map.source)]);
      if (auto layout = layouts_[from].contiguous ? std::nullopt : regrouped(from, map.shape)) {
        slot_of_[out.id] = view_slot(from, out, std::move(*layout));
        return {};
      }
      const std::uint32_t base = contiguous(from, id);
      Layout layout = row_major(map.shape);
      layout.offset = layouts_[base].offset;
      slot_of_[out.id] = view_slot(base, out, std::move(layout));
      renamable_[plan_.slots[base].storage] = false;
      return {};
    }
  }
  return {};
}

Status Lowering::affine(NodeId id, const ViewMap& map, Value out) {
  const std::uint32_t base = slot(graph_.node(id).in[static_cast<std::size_t>(map.source)]);
  if (!is_direct(map)) {
    if (auto parts = repeated(map, layouts_[base])) {
      const std::uint32_t whole = own_slot(out, graph_.type(out));
      slot_of_[out.id] = whole;
      renamable_[plan_.slots[whole].storage] = true;
      copy(view_slot(base, {}, std::move(parts->first)), view_slot(whole, {}, row_major(parts->second)), id);
    } else if (!edges(id, map, out)) {
      compute(id, Binding{});
    }
    return {};
  }
  if (std::ranges::any_of(map.axes, [](const auto& a) { return a.edge == Edge::fill; })) {
    pad(id, map, out);
    return {};
  }
  Layout layout{map.shape, std::vector<Dim>(map.shape.size(), Dim(0)), layouts_[base].offset, false};
  for (std::size_t d = 0; d < map.axes.size(); ++d) {
    const auto& a = map.axes[d];
    const Dim stride = layouts_[base].strides[d];
    layout.offset = scope_.add(layout.offset, scope_.mul(a.offset, stride));
    if (a.axis < 0) continue;
    Dim& s = layout.strides[static_cast<std::size_t>(a.axis)];
    s = scope_.add(s, scope_.mul(a.step, stride));
  }
  slot_of_[out.id] = view_slot(base, out, std::move(layout));
  renamable_[plan_.slots[base].storage] = false;
  return {};
}

/// A step for a map with fixed offsets that only moves along the operand's own axes, and goes beyond them.
bool Lowering::edges(NodeId id, const ViewMap& map, Value out) {
  if (map.shape.size() != map.axes.size() || map.axes.size() > kernel::kMaxEdgeRank) return false;
  Step s;
  s.kind = Step::Kind::kernel;
  s.kernel = Kernel::edges;
  s.node = id;
  for (std::size_t d = 0; d < map.axes.size(); ++d) {
    const auto& a = map.axes[d];
    if (a.axis != static_cast<int>(d) || a.step != Dim(1) || !a.offset.is_const() || a.edge == Edge::fill) return false;
    const auto outside = a.edge == Edge::clamp     ? kernel::Outside::clamp
                         : a.edge == Edge::reflect ? kernel::Outside::reflect
                         : a.edge == Edge::wrap    ? kernel::Outside::wrap
                                                   : kernel::Outside::nowhere;
    s.ints.insert(s.ints.end(), {a.offset.value(), static_cast<std::int64_t>(outside)});
  }
  s.in = {slot(graph_.node(id).in[static_cast<std::size_t>(map.source)])};
  const std::uint32_t whole = own_slot(out, graph_.type(out));
  slot_of_[out.id] = whole;
  renamable_[plan_.slots[whole].storage] = true;
  s.out = {whole};
  emit(std::move(s));
  return true;
}

/// Where a map only repeats axes as a whole: the operand with an axis of stride 0 before each of those, and the extents
/// of these axes, which are the result's, cut in two. Nothing where the extents do not prove it or are too many.
std::optional<std::pair<Layout, Shape>> Lowering::repeated(const ViewMap& map, const Layout& from) {
  Layout parts{{}, {}, from.offset, false};
  if (map.shape.size() != map.axes.size()) return std::nullopt;
  for (std::size_t d = 0; d < map.axes.size(); ++d) {
    const auto& a = map.axes[d];
    const Dim extent = from.shape[d], times = scope_.floordiv(map.shape[d], extent);
    const bool one = a.axis < 0 && extent == Dim(1), along = a.axis == static_cast<int>(d) && a.step == Dim(1);
    if (a.offset != Dim(0) || (a.edge != Edge::none && a.edge != Edge::wrap) || (!one && !along)) return std::nullopt;
    if (scope_.mul(times, extent) != map.shape[d]) return std::nullopt;
    if (times != Dim(1)) {
      parts.shape.push_back(times);
      parts.strides.emplace_back(0);
    }
    parts.shape.push_back(extent);
    parts.strides.push_back(from.strides[d]);
  }
  if (parts.shape.size() > kernel::kMaxCopyRank) return std::nullopt;
  Shape shape = parts.shape;
  return std::pair(std::move(parts), std::move(shape));
}

/// Indices become symbols, as counters do.
void Lowering::prepare_picks() {
  for (std::uint32_t n = 0; n < graph_.node_count(); ++n) {
    if (!needs_.node(NodeId{n}) || !picked_axis(graph_, NodeId{n})) continue;
    picks_[n] = *scope_.as_symbol(scope_.fresh({0, Dim::kMax}));
  }
}

/// A view whose offset the run reads.
void Lowering::pick(NodeId id, std::size_t axis) {
  const Node& n = graph_.node(id);
  const std::uint32_t base = slot(n.in[0]);
  const SymbolId index = picks_.at(id.id);
  Step s;
  s.kind = Step::Kind::pick;
  s.node = id;
  s.in = {contiguous(slot(n.in[1]), id)};
  s.index = index;
  s.limit = regs_->reg(layouts_[base].shape[axis]);
  emit(std::move(s));
  const std::uint32_t group = regs_->new_group();
  regs_->bind(index, group);
  eval(group);
  Layout layout = layouts_[base];
  layout.offset = scope_.add(layout.offset, scope_.mul(scope_.symbol_dim(index), layout.strides[axis]));
  layout.shape.erase(layout.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  layout.strides.erase(layout.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  slot_of_[n.out[0].id] = view_slot(base, n.out[0], std::move(layout));
  renamable_[plan_.slots[base].storage] = false;
  after_definition(n.out[0]);
}

/// Fills the output, then copies the operand into its place. Negative padding crops.
void Lowering::pad(NodeId id, const ViewMap& map, Value out) {
  const Node& n = graph_.node(id);
  const std::uint32_t base = slot(n.in[static_cast<std::size_t>(map.source)]);
  const std::uint32_t whole = own_slot(out, graph_.type(out));
  slot_of_[out.id] = whole;
  Step fill;
  fill.kind = Step::Kind::kernel;
  fill.kernel = Kernel::fill;
  fill.node = id;
  if (map.fill >= 0) fill.in = {slot(n.in[static_cast<std::size_t>(map.fill)])};
  fill.out = {whole};
  emit(std::move(fill));
  Layout from = layouts_[base], to = layouts_[whole];
  for (std::size_t d = 0; d < map.axes.size(); ++d) {
    const auto axis = static_cast<std::size_t>(map.axes[d].axis);
    const Dim start = scope_.max(0, scope_.sub(0, map.axes[d].offset));
    const Dim end = scope_.min(map.shape[axis], scope_.sub(layouts_[base].shape[d], map.axes[d].offset));
    const Dim extent = scope_.max(0, scope_.sub(end, start));
    to.offset = scope_.add(to.offset, scope_.mul(start, to.strides[axis]));
    from.offset = scope_.add(from.offset, scope_.mul(scope_.add(start, map.axes[d].offset), from.strides[d]));
    to.shape[axis] = extent;
    from.shape[d] = extent;
  }
  copy(view_slot(base, {}, std::move(from)), view_slot(whole, {}, std::move(to)), id);
}

void Lowering::concat(NodeId id, const ViewMap& map, Value out) {
  const Node& n = graph_.node(id);
  const std::uint32_t whole = own_slot(out, graph_.type(out));
  slot_of_[out.id] = whole;
  renamable_[plan_.slots[whole].storage] = true;
  const auto axis = static_cast<std::size_t>(map.axis);
  Dim at = 0;
  for (std::size_t i = static_cast<std::size_t>(map.source); i < n.in.size(); ++i) {
    const std::uint32_t from = slot(n.in[i]);
    Layout part = layouts_[whole];
    part.shape = layouts_[from].shape;
    part.offset = scope_.mul(at, part.strides[axis]);
    at = scope_.add(at, layouts_[from].shape[axis]);
    copy(from, view_slot(whole, {}, std::move(part)), id);
  }
}

}  // namespace frazil
