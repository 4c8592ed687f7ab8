#include <algorithm>
#include <set>

#include "ir/axis.h"
#include "plan/lower.h"

namespace frazil {

/// Counters become symbols, so that what depends on them (slice offsets) is ordinary register arithmetic. They must
/// exist before registers are numbered.
void Lowering::prepare_flows() {
  for (std::uint32_t n = 0; n < graph_.node_count(); ++n) {
    const Node& node = graph_.node(NodeId{n});
    const auto* region = std::get_if<Region>(&node.op->form);
    if (!region || !needs_.node(NodeId{n})) continue;
    auto& [flow, counters] = prepared_[n];
    region->lower(node, graph_, flow);
    for (std::uint32_t c = 0; c < flow.counters; ++c) {
      counters.push_back(*scope_.as_symbol(scope_.fresh({Dim::kMin, Dim::kMax})));
    }
  }
}

void Lowering::begin_flow(NodeId id) {
  auto& [flow, counters] = prepared_.at(id.id);
  FlowState state{.node = id,
                  .flow = std::move(flow),
                  .pc = 0,
                  .variables = {},
                  .variable_params = {},
                  .counters = counters,
                  .slices = {},
                  .slice_extents = {},
                  .accumulators = {},
                  .stacked = {},
                  .gathers = {},
                  .gives = std::vector<std::uint32_t>(graph_.node(id).out.size()),
                  .open = {}};
  state.variables.assign(state.flow.variables, kNone);
  state.variable_params.assign(state.flow.variables, Value{});
  state.slices.assign(state.flow.slices, kNone);
  state.gathers.assign(state.flow.accumulators, {0, false});
  for (const FlowOp& op : state.flow.ops) {
    if (op.kind == FlowOp::Kind::give) ++state.gives[op.index];
    if (op.kind == FlowOp::Kind::gather) state.gathers[op.index] = {op.axis, op.reversed};
    if (op.kind != FlowOp::Kind::enter) continue;
    for (std::size_t k = 0; k < op.cells.size(); ++k) {
      if (op.cells[k].kind != Cell::Kind::variable) continue;
      state.variable_params[op.cells[k].index] = graph_.block(op.block).params[k];
    }
  }
  for (SymbolId c : state.counters) regs_->bind(c, regs_->new_group());
  for (const Value param : state.variable_params) {
    if (param) open_append(param);
  }
  find_row(state);
  open_stacked(state);
  for (std::uint32_t a = 0; a < state.flow.accumulators; ++a) {
    if (state.stacked[a] != kNone) {
      state.accumulators.push_back(kNone);
      continue;
    }
    state.accumulators.push_back(static_cast<std::uint32_t>(plan_.accumulators.size()));
    Accumulator acc{
        .storage = new_storage(Place::growing), .count = regs_->plain(), .dims = {}, .elem = Elem::f32, .node = id};
    plan_.accumulators.push_back(std::move(acc));
  }
  // Accumulators learn their element's type from what is gathered, before the loop runs.
  for (const FlowOp& op : state.flow.ops) {
    if (op.kind != FlowOp::Kind::gather || state.stacked[op.index] != kNone) continue;
    Accumulator& acc = plan_.accumulators[state.accumulators[op.index]];
    const Type& type = cell_type(state, op.a);
    acc.elem = type.elem;
    acc.object = is_object(type);
    for (std::size_t i = 0; i < type.rank(); ++i) acc.dims.push_back(regs_->plain());
    Step reset;
    reset.kind = Step::Kind::reset;
    reset.index = state.accumulators[op.index];
    reset.node = id;
    emit(std::move(reset));
  }
  flows_.push_back(std::move(state));
  Frame frame;
  frame.flow = static_cast<int>(flows_.size() - 1);
  frames_.push_back(frame);
}

const Type& Lowering::cell_type(const FlowState& state, const Cell& cell) const {
  static const Type counter = Type::tensor(Elem::i64), truth = Type::tensor(Elem::boolean);
  switch (cell.kind) {
    case Cell::Kind::input: return graph_.type(graph_.node(state.node).in[cell.index]);
    case Cell::Kind::result: return graph_.type(graph_.block(cell.block).results[cell.index]);
    case Cell::Kind::variable: return graph_.type(state.variable_params[cell.index]);
    case Cell::Kind::counter: return counter;
    default: return truth;
  }
}

std::uint32_t Lowering::cell_slot(FlowState& state, const Cell& cell) {
  switch (cell.kind) {
    case Cell::Kind::input: return slot(graph_.node(state.node).in[cell.index]);
    case Cell::Kind::result: return slot(graph_.block(cell.block).results[cell.index]);
    case Cell::Kind::variable: return state.variables[cell.index];
    case Cell::Kind::slice: return state.slices[cell.index];
    case Cell::Kind::counter:
    case Cell::Kind::truth: {
      const bool count = cell.kind == Cell::Kind::counter;
      const std::uint32_t made = own_slot({}, Type::tensor(count ? Elem::i64 : Elem::boolean));
      Step s;
      s.kind = Step::Kind::store;
      s.node = state.node;
      s.out = {made};
      s.pairs = {{0, count ? static_cast<Reg>(state.counters[cell.index]) : regs_->reg(1)}};
      emit(std::move(s));
      return made;
    }
    default: return kNone;
  }
}

/// A condition that may have another number of elements than one is checked where it is read.
void Lowering::check_one(std::uint32_t slot, NodeId node) {
  const Dim count = scope_.product(layouts_[slot].shape);
  if (count != Dim(1)) check({count, 1, "element count of the condition"}, node);
}

Status Lowering::flow_step(FlowState& state) {
  const FlowOp& op = state.flow.ops[state.pc++];
  Step s;
  s.node = state.node;
  switch (op.kind) {
    case FlowOp::Kind::branch:
      check_one(cell_slot(state, op.a), state.node);
      s.kind = Step::Kind::branch;
      s.in = {contiguous(cell_slot(state, op.a), state.node)};
      state.open.push_back({.is_loop = false, .step = emit(std::move(s)), .leaves = {}});
      return {};
    case FlowOp::Kind::otherwise: {
      s.kind = Step::Kind::jump;
      const std::uint32_t jump = emit(std::move(s));
      plan_.steps[state.open.back().step].target = here();
      state.open.back().step = jump;
      return {};
    }
    case FlowOp::Kind::join:
      plan_.steps[state.open.back().step].target = here();
      state.open.pop_back();
      return {};
    case FlowOp::Kind::loop: state.open.push_back({.is_loop = true, .step = here(), .leaves = {}}); return {};
    case FlowOp::Kind::leave_unless:
      if (op.a.kind == Cell::Kind::truth) return {};
      check_one(cell_slot(state, op.a), state.node);
      s.kind = Step::Kind::branch;
      s.in = {contiguous(cell_slot(state, op.a), state.node)};
      state.open.back().leaves.push_back(emit(std::move(s)));
      return {};
    case FlowOp::Kind::leave_at:
      s.kind = Step::Kind::leave_at;
      s.index = state.counters[op.index];
      s.limit = state.counters[op.limit];
      state.open.back().leaves.push_back(emit(std::move(s)));
      return {};
    case FlowOp::Kind::again: end_loop(state); return {};
    case FlowOp::Kind::count:
      s.kind = Step::Kind::set;
      s.index = state.counters[op.index];
      s.number = op.number;
      emit(std::move(s));
      return {};
    case FlowOp::Kind::count_from:
      s.kind = Step::Kind::load;
      s.index = state.counters[op.index];
      s.in = {contiguous(cell_slot(state, op.a), state.node)};
      emit(std::move(s));
      return {};
    case FlowOp::Kind::count_dim:
      s.kind = Step::Kind::assign;
      s.pairs = {{state.counters[op.index], regs_->reg(op.dim)}};
      emit(std::move(s));
      return {};
    case FlowOp::Kind::step:
      s.kind = Step::Kind::add;
      s.index = state.counters[op.index];
      s.number = 1;
      emit(std::move(s));
      return {};
    case FlowOp::Kind::set: set_variables(state, op); return {};
    case FlowOp::Kind::enter: return enter(state, op);
    case FlowOp::Kind::slice: slice(state, op); return {};
    case FlowOp::Kind::gather: put_row(state, op); return {};
    case FlowOp::Kind::give: give(state, op); return {};
    case FlowOp::Kind::expect: guard(state); return {};
  }
  return {};
}

void Lowering::guard(const FlowState& state) {
  const std::uint32_t stable = graph_.node(state.node).stable;
  const auto at = std::ranges::find(graph_.assumptions(), stable, &Graph::Assumption::stable);
  if (at == graph_.assumptions().end()) return;
  Step s;
  s.node = state.node;
  s.kind = Step::Kind::guard;
  s.index = regs_->reg(at->predicate);
  s.number = at->value;
  s.limit = stable;
  emit(std::move(s));
}

void Lowering::end_loop(FlowState& state) {
  const Open loop = state.open.back();
  state.open.pop_back();
  Step s;
  s.kind = Step::Kind::again;
  s.node = state.node;
  s.target = loop.step;
  const std::uint32_t end = emit(std::move(s));
  for (std::uint32_t leave : loop.leaves) plan_.steps[leave].target = here();
  loops_.push_back({loop.step, end});
  ++plan_.loops;
}

void Lowering::end_flow(const FlowState& state) {
  const Node& node = graph_.node(state.node);
  for (std::size_t k = 0; k < node.out.size(); ++k) {
    const Value v = node.out[k];
    if (!v || !needs_.value(v)) continue;
    const Slot& joined = plan_.slots[slot_of_[v.id]];
    if (state.gives[k] > 1 && !joined.object) renamable_[joined.storage] = true;
    after_definition(v);
  }
}

std::vector<std::pair<SymbolId, Reg>> Lowering::own_extents(Value v, const std::vector<Reg>& dims) const {
  const Shape& shape = graph_.type(v).shape;
  std::vector<std::pair<SymbolId, Reg>> pairs;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto symbol = scope_.as_symbol(shape[i]);
    if (!symbol || !scope_.is_fresh(*symbol)) continue;
    const auto origin = graph_.extent_origin(*symbol);
    if (origin && origin->value == v) pairs.emplace_back(*symbol, dims[i]);
  }
  return pairs;
}

void Lowering::assign_extents(Value v, const std::vector<Reg>& dims) {
  Step s;
  s.kind = Step::Kind::assign;
  s.pairs = own_extents(v, dims);
  if (s.pairs.empty()) return;
  std::optional<std::uint32_t> group;
  for (const auto& [symbol, reg] : s.pairs) {
    if (!regs_->is_bound(symbol)) {
      if (!group) group = regs_->new_group();
      regs_->bind(symbol, *group);
    }
    group = regs_->group(scope_.symbol_dim(symbol));
  }
  emit(std::move(s));
  eval(*group);
}

/// True for a result that its own block computes: nobody else sees its storage.
bool Lowering::is_own_result(const Cell& cell) const {
  if (cell.kind != Cell::Kind::result) return false;
  return graph_.block_of(graph_.block(cell.block).results[cell.index]) == cell.block;
}

bool Lowering::is_variable(const FlowState& state, std::uint32_t slot) const {
  return std::ranges::any_of(state.variables, [&](std::uint32_t v) {
    return v != kNone && plan_.slots[v].storage == plan_.slots[slot].storage;
  });
}

/// An object with what the slot holds and the extents that it has now.
std::uint32_t Lowering::set_aside(std::uint32_t slot, NodeId node) {
  const std::uint32_t storage = new_storage(Place::object);
  Slot aside = plan_.slots[slot];
  aside.storage = storage;
  aside.object = true;
  plan_.slots.push_back(std::move(aside));
  layouts_.push_back(layouts_[slot]);
  const auto made = static_cast<std::uint32_t>(plan_.slots.size() - 1);
  move(slot, made, node);
  return made;
}

/// What a variable is given at the back edge, safe from what the others are given: extents change first, and a source
/// may be a variable itself. `taken` are the storages that others take.
std::uint32_t Lowering::next_source(const FlowState& state, const Cell& cell, std::uint32_t from,
                                    std::uint32_t variable, std::span<const std::uint32_t> taken) {
  if (plan_.slots[from].object) return is_variable(state, from) ? set_aside(from, state.node) : from;
  if (plan_.slots[variable].object) return set_aside(from, state.node);
  const std::uint32_t storage = plan_.slots[from].storage;
  const bool fresh =
      is_own_result(cell) && renamable_[storage] && is_whole(from) && std::ranges::find(taken, storage) == taken.end();
  if (fresh) return from;
  const std::uint32_t packed = temp_like(from);
  copy(from, packed, state.node);
  return packed;
}

std::vector<std::uint32_t> Lowering::variable_sources(FlowState& state, const FlowOp& op, bool first) {
  std::vector<std::uint32_t> sources;
  std::vector<std::uint32_t> taken;
  for (const auto& [variable, cell] : op.pairs) {
    std::uint32_t from = cell_slot(state, cell);
    const bool stays = first || append_of(state.variable_params[variable]) != nullptr;
    if (!stays) from = next_source(state, cell, from, state.variables[variable], taken);
    if (!stays) taken.push_back(plan_.slots[from].storage);
    sources.push_back(from);
  }
  return sources;
}

/// All at once: the extents of one variable may be the old ones of another.
void Lowering::assign_variables(const FlowState& state, const FlowOp& op, std::span<const std::uint32_t> sources) {
  Step extents;
  extents.kind = Step::Kind::assign;
  std::set<std::uint32_t> groups;
  for (std::size_t i = 0; i < op.pairs.size(); ++i) {
    for (const auto& [symbol, reg] :
         own_extents(state.variable_params[op.pairs[i].first], plan_.slots[sources[i]].dims)) {
      if (!regs_->is_bound(symbol)) regs_->bind(symbol, regs_->new_group());
      groups.insert(regs_->group(scope_.symbol_dim(symbol)));
      extents.pairs.emplace_back(symbol, reg);
    }
  }
  if (!extents.pairs.empty()) emit(std::move(extents));
  for (std::uint32_t g : groups) eval(g);
}

std::uint32_t Lowering::first_variable(const FlowState& state, Value param, std::uint32_t source) {
  const Append* append = append_of(param);
  const std::uint32_t variable =
      append != nullptr ? growing_variable(param, *append) : own_slot(param, graph_.type(param));
  if (!plan_.slots[variable].object && !plan_.slots[source].object) {
    copy(source, variable, state.node);
    return variable;
  }
  move(source, variable, state.node);
  return variable;
}

/// The first set of a loop's variables copies the initial values; the later one, at the back edge, ends an iteration.
void Lowering::set_variables(FlowState& state, const FlowOp& op) {
  if (op.pairs.empty()) return;
  const bool first = state.variables[op.pairs[0].first] == kNone;
  const std::vector<std::uint32_t> sources = variable_sources(state, op, first);
  assign_variables(state, op, sources);
  for (std::size_t i = 0; i < op.pairs.size(); ++i) {
    std::uint32_t& variable = state.variables[op.pairs[i].first];
    const Value param = state.variable_params[op.pairs[i].first];
    if (first) {
      variable = first_variable(state, param, sources[i]);
    } else if (append_of(param) == nullptr) {
      update(variable, sources[i], state.node);
    }
  }
}

void Lowering::update(std::uint32_t variable, std::uint32_t source, NodeId node) {
  if (plan_.slots[source].object || plan_.slots[variable].object) return move(source, variable, node);
  Storage &a = plan_.storages[plan_.slots[source].storage], &b = plan_.storages[plan_.slots[variable].storage];
  Step s;
  s.kind = Step::Kind::swap;
  s.node = node;
  s.in = {source};
  s.out = {variable};
  emit(std::move(s));
  renamable_[plan_.slots[source].storage] = false;
  a.swapped = b.swapped = true;
  if (a.bytes != b.bytes || a.place == Place::growing || b.place == Place::growing) {
    a.place = b.place = Place::growing;
  }
}

Status Lowering::enter(FlowState& state, const FlowOp& op) {
  const Block& block = graph_.block(op.block);
  const std::vector<Cell> cells = op.cells;
  for (std::size_t k = 0; k < block.params.size(); ++k) {
    const Value p = block.params[k];
    if (cells[k].kind == Cell::Kind::variable) {
      slot_of_[p.id] = state.variables[cells[k].index];
    } else if (needs_.value(p)) {
      slot_of_[p.id] = cell_slot(state, cells[k]);
    }
  }
  reserve_rows(state);
  for (Value p : block.params) {
    if (needs_.value(p)) after_definition(p);
  }
  Frame frame;
  frame.block = op.block;
  frames_.push_back(frame);
  return {};
}

void Lowering::slice(FlowState& state, const FlowOp& op) {
  const std::uint32_t base = cell_slot(state, op.a);
  const SymbolId counter = state.counters[op.limit];
  eval(regs_->group(scope_.symbol_dim(counter)));
  Layout layout = layouts_[base];
  const std::size_t axis = from_front(op.axis, layout.shape.size());
  Dim at = scope_.symbol_dim(counter);
  if (op.reversed) at = scope_.sub(scope_.sub(layout.shape[axis], 1), at);
  layout.offset = scope_.add(layout.offset, scope_.mul(at, layout.strides[axis]));
  layout.shape.erase(layout.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  layout.strides.erase(layout.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  if (plan_.slots[base].object) {
    state.slices[op.index] = slice_object(state, op, base, layout.shape);
    return;
  }
  state.slices[op.index] = view_slot(base, {}, std::move(layout));
}

std::uint32_t Lowering::slice_object(const FlowState& state, const FlowOp& op, std::uint32_t whole,
                                     const Shape& shape) {
  const std::uint32_t part = own_slot({}, Type::tensor(plan_.slots[whole].elem, shape));
  Step s;
  s.kind = Step::Kind::slice;
  s.node = state.node;
  s.index = state.counters[op.limit];
  s.number = op.axis;
  s.reversed = op.reversed;
  s.in = {whole};
  s.out = {part};
  emit(std::move(s));
  return part;
}

/// The accumulator's [count, element...] as a view with the gathered axis where the node wants it.
void Lowering::give_gathered(FlowState& state, Value out, std::uint32_t accumulator) {
  if (state.stacked[accumulator] != kNone) {
    slot_of_[out.id] = state.stacked[accumulator];
    return;
  }
  const Accumulator& acc = plan_.accumulators[state.accumulators[accumulator]];
  const auto [axis_given, reversed] = state.gathers[accumulator];
  if (acc.object) return stack(state, out, accumulator);
  const Shape& shape = graph_.type(out).shape;
  const std::size_t axis = from_front(axis_given, shape.size());
  std::vector<Reg> dims(acc.dims.begin(), acc.dims.end());
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), acc.count);
  assign_extents(out, dims);
  Shape stored = shape;
  stored.erase(stored.begin() + static_cast<std::ptrdiff_t>(axis));
  const Layout element = row_major(stored);
  Dim stride = scope_.product(stored);
  Layout layout{shape, element.strides, 0, false};
  if (reversed) {
    layout.offset = scope_.mul(scope_.sub(shape[axis], 1), stride);
    stride = scope_.sub(0, stride);
  }
  layout.strides.insert(layout.strides.begin() + static_cast<std::ptrdiff_t>(axis), stride);
  slot_of_[out.id] = new_slot(out, graph_.type(out), acc.storage, std::move(layout));
}

void Lowering::stack(FlowState& state, Value out, std::uint32_t accumulator) {
  const Accumulator& acc = plan_.accumulators[state.accumulators[accumulator]];
  const auto [axis, reversed] = state.gathers[accumulator];
  if (const std::size_t rank = graph_.type(out).rank(); rank > 0) {
    std::vector<Reg> dims(acc.dims.begin(), acc.dims.end());
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(from_front(axis, rank)), acc.count);
    assign_extents(out, dims);
  }
  slot_of_[out.id] = own_slot(out, graph_.type(out));
  Step s;
  s.kind = Step::Kind::stack;
  s.node = state.node;
  s.index = state.accumulators[accumulator];
  s.number = axis;
  s.reversed = reversed;
  s.out = {slot_of_[out.id]};
  emit(std::move(s));
}

void Lowering::give(FlowState& state, const FlowOp& op) {
  const Value out = graph_.node(state.node).out[op.index];
  if (!out || !needs_.value(out)) return;
  if (op.a.kind == Cell::Kind::gathered) {
    give_gathered(state, out, op.a.index);
    return;
  }
  const std::uint32_t from = cell_slot(state, op.a);
  const Type& type = graph_.type(out);
  if (state.gives[op.index] == 1 && !plan_.slots[from].object) {
    assign_extents(out, plan_.slots[from].dims);
    // A variable is whole and may be given under extents of the node's own; a result keeps its layout.
    const bool variable = op.a.kind == Cell::Kind::variable;
    const Append* append = variable ? append_of(state.variable_params[op.a.index]) : nullptr;
    Layout layout = append != nullptr ? spaced(type.shape, *append, append->capacity)
                    : variable        ? row_major(type.shape)
                                      : layouts_[from];
    layout.shape = type.shape;
    slot_of_[out.id] = new_slot(out, type, plan_.slots[from].storage, std::move(layout));
    return;
  }
  if (type.is_tensor()) assign_extents(out, plan_.slots[from].dims);
  if (slot_of_[out.id] == kNone) {
    slot_of_[out.id] = own_slot(out, type);
  }
  const std::uint32_t to = slot_of_[out.id], storage = plan_.slots[from].storage;
  if (plan_.slots[to].object || plan_.slots[from].object) {
    move(from, to, state.node);
  } else if (is_own_result(op.a) && renamable_[storage] && is_whole(from) &&
             plan_.storages[storage].bytes == plan_.storages[plan_.slots[to].storage].bytes) {
    renamable_[storage] = false;
    for (Slot& each : plan_.slots) {
      if (each.storage == storage) each.storage = plan_.slots[to].storage;
    }
  } else {
    copy(from, to, state.node);
  }
}

}  // namespace frazil
