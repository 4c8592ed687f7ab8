#include "plan/lower/lower.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/limits/load_scope.h"
#include "ir/op/op.h"

namespace frazil {

Lowering::Lowering(const Graph& graph, Scope& scope, const Needs& needs, const Fusion& fusion, PassSet passes,
                   Plan& plan)
    : passes_(passes),
      graph_(graph),
      plan_(plan),
      flows_(graph, scope, needs),
      appends_(graph, scope, needs, flows_, passes.has(Pass::append)),
      placements_(graph, scope, needs, fusion, flows_, appends_, passes.has(Pass::stack)),
      picks_(graph, scope, needs),
      w_(graph, scope, needs, plan),
      nodes_(w_, fusion, appends_, placements_, picks_),
      flow_(w_, nodes_, flows_, appends_, placements_) {
  for (const Appends::Copied& c : appends_.copied()) plan.copied.push_back({c.node, c.from, c.why});
}

Status Lowering::run() {
  define_inputs();
  frames_.push_back({Graph::kMain});
  while (!frames_.empty()) FRAZIL_CHECK(advance());
  FRAZIL_CHECK(define_outputs());
  w_.emit(step::Halt{});
  plan_.registers = w_.regs.count();
  if (const auto missing = w_.regs.missing()) {
    return fail(Code::internal, "no step of the plan gives symbol '{}' a value", w_.scope.symbol_name(*missing));
  }
  return {};
}

/// Lowers one node, or one op of a flow. Nested regions do not use the native stack.
Status Lowering::advance() {
  FRAZIL_CHECK(check_load());
  Frame& f = frames_.back();
  if (!f.block) {
    if (open_.back().done()) {
      flow_.end(open_.back());
      open_.pop_back();
      frames_.pop_back();
    } else if (const auto block = flow_.step(open_.back())) {
      frames_.push_back({*block});
    }
    return {};
  }
  const auto& nodes = graph_.block(f.block).nodes;
  if (f.next == nodes.size()) {
    frames_.pop_back();
    return {};
  }
  const NodeId id = nodes[f.next++];
  FRAZIL_CHECK(nodes_.lower(id));
  if (w_.needs.node(id) && std::holds_alternative<Region>(graph_.node(id).op->form)) {
    open_.push_back(flow_.begin(id));
    frames_.push_back({});
  }
  return {};
}

void Lowering::symbol_groups(std::vector<std::uint32_t>& of) const {
  for (SymbolId s = 0; s < w_.scope.symbol_count(); ++s) {
    if (w_.regs.is_bound(s)) of[s] = w_.regs.group_of_reg(s);
  }
}

void Lowering::define_inputs() {
  const auto& params = graph_.main().params;
  for (Value v : params) {
    for (Dim d : graph_.type(v).shape) {
      if (const auto s = w_.scope.as_symbol(d)) w_.regs.bind(*s, 0);
    }
  }
  for (Value v : params) flow_.open_append(v);
  w_.eval(0);
  for (std::size_t i = 0; i < params.size(); ++i) define_input(i);
  for (Value v : params) w_.after_definition(v);
}

void Lowering::define_input(std::size_t i) {
  const Value v = graph_.main().params[i];
  const Type& type = graph_.type(v);
  const Append* append = appends_.of(v);
  const Place place = is_object(type) ? Place::object : Place::input;
  const std::uint32_t storage = w_.new_storage(place, static_cast<std::uint32_t>(i));
  w_.has_capacity[storage] = append != nullptr;
  Layout layout = append == nullptr
                      ? row_major(w_.scope, type.shape)
                      : with_capacity(w_.scope, type.shape, append->axis, w_.scope.symbol_dim(append->input_capacity));
  const SlotId slot = w_.new_slot(v, type, storage, std::move(layout));
  if (append != nullptr) w_.eval_symbol(append->capacity);
  w_.set_slot(v, slot);
  plan_.inputs.push_back(slot);
  std::vector<Plan::InputDim> dims;
  for (Dim d : type.shape) {
    Plan::InputDim in;
    if (d.is_const())
      in.constant = d.value();
    else if (const auto symbol = w_.scope.as_symbol(d))
      in.symbol = *symbol, in.bounds = symbol_bounds(w_.scope, *symbol);
    else
      in.equals = w_.regs.reg(d);
    dims.push_back(in);
  }
  plan_.input_dims.push_back(std::move(dims));
}

/// Returns false for a view that covers its storage only if a run-time check holds. Such a storage cannot be the
/// result's.
bool Lowering::fills_storage(SlotId slot) {
  if (plan_.slot(slot).object || w_.storage(slot).place != Place::arena) return true;
  return w_.bytes_of(plan_.slot(slot).elem, w_.layout(slot).shape) == w_.storage(slot).bytes;
}

Status Lowering::define_outputs() {
  for (Value v : graph_.main().results) {
    SlotId slot = w_.slot(v);
    if (!fills_storage(slot)) {
      const SlotId made = w_.temp_like(slot);
      w_.copy(slot, made, {});
      slot = made;
    }
    plan_.outputs.push_back(slot);
  }
  return {};
}

void Lowering::report(std::vector<pass::PassRun>& ran) const {
  const auto tell = [&](Pass pass, std::size_t count, std::string_view what, Clock::duration time) {
    if (!passes_.has(pass)) return;
    pass::PassRun run{.name = name_of(pass), .changed = count > 0, .time = time, .note = {}};
    if (run.changed) run.note = fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
    ran.push_back(std::move(run));
  };
  tell(Pass::append, plan_.appends.size(), "value", found_appends_ - begin_);
  const bool looked =
      std::ranges::any_of(flows_.regions(), [&](NodeId n) { return flows_.of(n).flow.accumulators > 0; });
  if (looked) tell(Pass::stack, flow_.results_in_place(), "result", placed_ - found_appends_);
}

}  // namespace frazil
