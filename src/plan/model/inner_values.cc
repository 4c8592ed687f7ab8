#include "plan/model/inner_values.h"

#include <algorithm>

#include "ir/op/flow.h"
#include "ir/op/op.h"

namespace frazil {
namespace {

constexpr std::string_view kGone = "no step computes it: a pass removed it or replaced the node that computed it";

constexpr std::string_view kPart = "its region reads it as a part of another value, or under another value's name";
constexpr std::string_view kOnDevice = "a device computes it inside another step and does not copy it back";

/// Returns the extents of a value that a fused kernel computes: those of the domain, or kNoReg (1) along an axis.
std::vector<Reg> dims_of(const Shape& shape, const Access& access, const std::vector<Reg>& domain) {
  std::vector<Reg> dims;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    dims.push_back(shape[i] == Dim(1) ? kNoReg : domain[access.axes[i]]);
  }
  return dims;
}

bool makes(const std::vector<Origin>& origins, const Origin& wanted) {
  return std::ranges::find(origins, wanted) != origins.end();
}

}  // namespace

InnerValueFinder::InnerValueFinder(const Plan& plan) : plan_(plan), defined_(plan, 0, defined_by_request(plan)) {
  const auto size = static_cast<StepIndex>(plan.steps.size());
  ranges_[Graph::kMain.id] = {0, size - 1, nullptr};
  for (const PlannedRegion& region : plan.regions) {
    for (const auto& entry : region.blocks) ranges_.try_emplace(entry.block.id, Range{entry.begin, entry.end, &region});
  }
  for (std::uint32_t s = 0; s < plan.slots.size(); ++s) {
    if (plan.slots[s].value) slots_[plan.slots[s].value.id].push_back({s});
  }
  find_ends();
}

/// Finds the step after which each node is done. A node without steps, such as a view, is done when its operands are.
void InnerValueFinder::find_ends() {
  const Graph& graph = *plan_.graph;
  after_.assign(graph.node_count(), 0);
  for (StepIndex i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    if (step.node) after_[step.node.id] = i + 1;
    const auto* launch = step.as<step::Launch>();
    if (launch == nullptr || launch->fused == kNone) continue;
    fused_step_[step.node.id] = i;
    for (NodeId m : step.members) {
      after_[m.id] = i + 1;
      fused_step_[m.id] = i;
    }
  }
  for (const PlannedRegion& region : plan_.regions) after_[region.node.id] = region.end;
  for (std::uint32_t n = 0; n < after_.size(); ++n) {
    if (after_[n] != 0) continue;
    for (Value v : graph.node(NodeId{n}).in) {
      const auto producer = v ? graph.producer(v) : std::nullopt;
      if (producer) after_[n] = std::max(after_[n], after_[producer->id]);
    }
  }
}

const InnerValueFinder::Range* InnerValueFinder::range_of(Value v) const {
  const auto block = plan_.graph->block_of(v);
  const auto it = block ? ranges_.find(block->id) : ranges_.end();
  return it == ranges_.end() ? nullptr : &it->second;
}

StepIndex InnerValueFinder::defined_after(Value v, const Range& range) const {
  const auto producer = plan_.graph->producer(v);
  return producer ? std::clamp(after_[producer->id], range.begin, range.end) : range.begin;
}

bool InnerValueFinder::is_there(SlotId s, StepIndex step) const {
  const Slot& slot = plan_.slot(s);
  if (!defined_.reached(step) || !defined_.has_storage(step, slot.storage)) return false;
  bool all = true;
  const auto need = [&](Reg r) { all &= defined_.has_reg(step, r); };
  if (slot.object) return true;
  std::ranges::for_each(slot.dims, need);
  std::ranges::for_each(slot.strides, need);
  if (slot.offset != kNoReg) need(slot.offset);
  return all;
}

bool InnerValueFinder::stored(Value v, const Range& range, InnerValue& found) const {
  const auto slots = slots_.find(v.id);
  if (slots == slots_.end()) return false;
  for (StepIndex at = defined_after(v, range); at <= range.end; ++at) {
    for (SlotId s : slots->second) {
      if (plan_.storage(s).place == Place::tiles || !is_there(s, at)) continue;
      found.at = at;
      found.how = InnerValue::Stored{s};
      return true;
    }
  }
  return false;
}

/// Finds `origin` in the fused kernel of `step`: as an instruction, as a stage of its producer, or in its prologue.
bool InnerValueFinder::cut(const Origin& origin, StepIndex step, InnerValue& found) const {
  const auto& launch = *plan_.steps[step].as<step::Launch>();
  if (launch.device != kHost) return false;
  const FusedKernel& whole = *plan_.fused[launch.fused];
  InnerValue::Cut made{.kernel = nullptr, .in = launch.in, .domain = launch.domain, .dims = {}};
  const Type& type = plan_.graph->type(found.value);
  const auto cut_body = [&](const FusedKernel& kernel) {
    const auto at = std::ranges::find_if(kernel.body, [&](const FusedIns& ins) { return makes(ins.origins, origin); });
    if (at == kernel.body.end()) return false;
    const Access access = access_of(type.rank(), kernel.domain.size());
    made.dims = dims_of(type.shape, access, made.domain);
    const auto index = static_cast<std::uint32_t>(at - kernel.body.begin());
    made.kernel = std::make_shared<const FusedKernel>(frazil::cut(kernel, {index, type.elem, access}));
    return true;
  };
  bool done = cut_body(whole);
  const Producer* const producer = whole.producer ? &*whole.producer : nullptr;
  if (!done && producer != nullptr) {
    const auto stage = std::ranges::find(producer->origins, origin.node, &Origin::node);
    if ((done = stage != producer->origins.end())) {
      const auto count = static_cast<std::size_t>(stage - producer->origins.begin()) + 1;
      made.kernel = std::make_shared<const FusedKernel>(cut_producer(whole, count));
      made.dims = launch.domain;
    } else if (producer->prologue) {
      const OperandRange& operands = producer->prologue_operands;
      made.in.assign(launch.in.begin() + operands.first, launch.in.begin() + operands.end());
      made.domain = plan_.slot(launch.in[producer->operands.first]).dims;
      done = cut_body(*producer->prologue);
    }
  }
  if (!done) return false;
  found.at = step;
  found.how = std::move(made);
  return true;
}

bool InnerValueFinder::cut(Value v, InnerValue& found) const {
  const auto producer = plan_.graph->producer(v);
  const auto step = producer ? fused_step_.find(producer->id) : fused_step_.end();
  if (step == fused_step_.end()) return false;
  return cut({.node = plan_.graph->node(*producer).stable, .output = 0, .exact = true}, step->second, found);
}

bool InnerValueFinder::known(Value v, const Range& range, InnerValue& found) const {
  const std::vector<Dim>* const elements = plan_.graph->known_value(v);
  if (elements == nullptr || !Needs::is_known(*plan_.graph, v)) return false;
  const auto& shape = plan_.graph->type(v).shape;
  if (!std::ranges::all_of(shape, [](Dim d) { return d.is_const(); })) return false;
  std::vector<SymbolId> symbols;
  for (Dim d : *elements) {
    for (SymbolId s : plan_.graph->scope().symbols_of(d)) symbols.push_back(s);
  }
  for (StepIndex at = defined_after(v, range); at <= range.end; ++at) {
    const auto has = [&](SymbolId s) { return s < plan_.registers && defined_.has_reg(at, s); };
    if (!defined_.reached(at) || !std::ranges::all_of(symbols, has)) continue;
    found.at = at;
    found.how = InnerValue::Known{};
    return true;
  }
  return false;
}

bool InnerValueFinder::counter(Value v, const Range& range, InnerValue& found) const {
  const Graph& graph = *plan_.graph;
  const ValueDef& def = graph.def(v);
  if (def.kind != ValueDef::Kind::param || range.region == nullptr) return false;
  Flow flow;
  const Node& node = graph.node(range.region->node);
  std::get<Region>(node.op->form).lower(node, graph, flow);
  for (const FlowOp& op : flow.ops) {
    if (op.kind != FlowOp::Kind::enter || op.block.id != def.owner) continue;
    const Cell& cell = op.cells[def.index];
    if (cell.kind != Cell::Kind::counter) return false;
    found.at = range.begin;
    found.how = InnerValue::Counter{range.region->counters[cell.index]};
    return true;
  }
  return false;
}

std::vector<Reg> InnerValueFinder::iterations(Value v) const {
  std::vector<Reg> list;
  const Graph& graph = *plan_.graph;
  for (BlockId b = *graph.block_of(v); graph.block(b).owner; b = graph.block(b).parent) {
    const auto range = ranges_.find(b.id);
    if (range == ranges_.end() || range->second.region == nullptr) continue;
    if (const Reg count = range->second.region->iteration; count != kNoReg) list.insert(list.begin(), count);
  }
  return list;
}

bool InnerValueFinder::is_in_device_step(Value v) const {
  const auto producer = plan_.graph->producer(v);
  const auto step = producer ? fused_step_.find(producer->id) : fused_step_.end();
  return step != fused_step_.end() && plan_.steps[step->second].as<step::Launch>()->device != kHost;
}

Result<InnerValue> InnerValueFinder::find(Value v) const {
  InnerValue found{.value = v};
  if (plan_.graph->constant(v) != nullptr) {
    found.always = true;
    return found;
  }
  const Range* const range = range_of(v);
  if (range == nullptr) return fail(Code::unsupported, "{}", kGone);
  if (!stored(v, *range, found) && !cut(v, found) && !known(v, *range, found) && !counter(v, *range, found)) {
    const bool param = plan_.graph->def(v).kind == ValueDef::Kind::param;
    return fail(Code::unsupported, "{}", param ? kPart : is_in_device_step(v) ? kOnDevice : kGone);
  }
  found.from = range->begin;
  found.always = found.at == range->begin;
  found.iterations = iterations(v);
  return found;
}

}  // namespace frazil
