#include "plan/analyse/cost.h"

#include <algorithm>
#include <optional>

#include "plan/analyse/operations.h"

namespace frazil {
namespace {

double bytes_of(const Plan& plan, const Slot& slot, std::span<const std::int64_t> registers) {
  if (slot.object || plan.storages[slot.storage].place == Place::tiles) return 0;
  auto bytes = static_cast<double>(byte_size(slot.elem));
  for (std::size_t i = 0; i < slot.dims.size(); ++i) {
    const bool repeats = !slot.strides.empty() && registers[slot.strides[i]] == 0;
    if (!repeats) bytes *= static_cast<double>(std::max<std::int64_t>(registers[slot.dims[i]], 0));
  }
  return bytes;
}

double bytes_of(const Plan& plan, const std::vector<SlotId>& slots, std::span<const std::int64_t> registers) {
  double bytes = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const bool again = std::find(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(i), slots[i]) !=
                       slots.begin() + static_cast<std::ptrdiff_t>(i);
    if (slots[i] && !again) bytes += bytes_of(plan, plan.slot(slots[i]), registers);
  }
  return bytes;
}

}  // namespace

std::vector<NodeId> members_of(const Step& step) {
  const auto* launch = step.as<step::Launch>();
  if (launch == nullptr) return {};
  const Kernel k = launch->kernel();
  if (k == Kernel::copy || k == Kernel::fill || k == Kernel::edges || k == Kernel::pack) return {};
  if (!step.members.empty()) return step.members;
  return step.node ? std::vector{step.node} : std::vector<NodeId>{};
}

namespace {

/// `each` operations at a number of points.
struct CountedWork {
  double each;
  Dim points;
};

/// Counts the operations of nodes with their blocks.
class CostReader {
 public:
  explicit CostReader(const Plan& plan)
      : reader_(*plan.graph), symbols_(std::min<std::size_t>(reader_.graph().scope().symbol_count(), plan.registers)) {}

  /// Adds the operations of a node to `terms`. Returns false if they are not known.
  bool add(NodeId id, std::vector<CountedWork>& terms) {
    std::vector<std::pair<NodeId, Dim>> open{{id, Dim(1)}};
    bool known = true;
    while (!open.empty()) {
      const auto [node, times] = open.back();
      open.pop_back();
      const NodeWork work = reader_.work_of(node);
      known &= work.known;
      for (const Operations& one : work.terms) known &= put(one, times, terms);
      for (const NodeId inner : work.inner) open.emplace_back(inner, times);
      if (!work.trips) continue;
      const Dim all = reader_.product(times, *work.trips);
      for (const BlockId b : reader_.graph().node(node).blocks) {
        for (const NodeId inner : reader_.graph().block(b).nodes) open.emplace_back(inner, all);
      }
    }
    return known;
  }

  const Scope& scope() const { return reader_.graph().scope(); }

 private:
  bool put(const Operations& one, Dim times, std::vector<CountedWork>& terms) {
    using enum Operations::Kind;
    if (one.kind != element && one.kind != product) return true;
    const Dim points = reader_.product(one.points, times);
    if (!has(points)) return false;
    terms.push_back({one.each, points});
    return true;
  }

  /// Returns true if a session has registers for all symbols of the Dim.
  bool has(Dim d) const {
    if (d.is_const()) return true;
    return std::ranges::all_of(scope().symbols_of(d), [&](SymbolId s) { return s < symbols_; });
  }

  OperationReader reader_;
  std::size_t symbols_;
};

}  // namespace

Costs::Costs(const Plan& plan) : plan_(plan), steps_(plan.steps.size()) {
  CostReader reader(plan);
  std::vector<std::vector<CountedWork>> found(plan.steps.size());
  for (std::size_t pc = 0; pc < plan.steps.size(); ++pc) {
    for (NodeId id : members_of(plan.steps[pc])) {
      if (std::holds_alternative<Region>(plan.graph->node(id).op->form)) continue;  // the steps of its blocks count
      steps_[pc].known &= reader.add(id, found[pc]);
    }
  }
  // The first registers belong to symbols. The reader makes symbols, so their number is final only here.
  program_.registers = static_cast<std::uint32_t>(reader.scope().symbol_count());
  for (std::size_t pc = 0; pc < plan.steps.size(); ++pc) {
    for (const auto& [each, points] : found[pc]) {
      DimRegisters none;
      Term term{each, program_.code.size(), 0, 0, {}};
      if (!points.is_const()) term.symbols = reader.scope().symbols_of(points);
      term.result = reader.scope().emit(points, program_, none);
      term.to = program_.code.size();
      steps_[pc].terms.push_back(std::move(term));
    }
  }
  registers_.resize(program_.registers);
}

Cost Costs::of(std::uint32_t pc, std::span<const std::int64_t> registers) {
  const auto* launch = plan_.steps[pc].as<step::Launch>();
  if (launch == nullptr) return {};
  Cost cost{.read = bytes_of(plan_, launch->in, registers),
            .written = bytes_of(plan_, launch->out, registers),
            .flops_known = steps_[pc].known};
  for (const Term& term : steps_[pc].terms) {
    for (const SymbolId s : term.symbols) registers_[s] = registers[s];
    program_.run(registers_, term.from, term.to);
    cost.flops += term.each * static_cast<double>(std::max<std::int64_t>(registers_[term.result], 0));
  }
  return cost;
}

}  // namespace frazil
