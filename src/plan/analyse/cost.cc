#include "plan/analyse/cost.h"

#include <algorithm>
#include <optional>

#include "ir/edit/builder.h"
#include "ir/infer/infer.h"
#include "ir/op/flow.h"

namespace frazil {
namespace {

double operations(const ScalarTape& tape) {
  return static_cast<double>(std::ranges::count_if(tape.code, [](const ScalarIns& ins) {
    return ins.op != ScalarOp::load && ins.op != ScalarOp::constant && ins.op != ScalarOp::cast;
  }));
}

/// Returns how often a region's body runs; nullopt if only the run determines it.
std::optional<Dim> trips_of(const Flow& flow) {
  using Kind = FlowOp::Kind;
  const auto loop = std::ranges::find(flow.ops, Kind::loop, &FlowOp::kind);
  if (loop == flow.ops.end()) return Dim(1);
  const auto leave = std::ranges::find(flow.ops, Kind::leave_at, &FlowOp::kind);
  if (leave == flow.ops.end()) return std::nullopt;
  for (const FlowOp& op : flow.ops) {
    if (op.kind == Kind::count_dim && op.index == leave->limit) return op.dim;
    if (op.kind == Kind::count && op.index == leave->limit) return Dim(op.number);
  }
  return std::nullopt;
}

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

/// Walks the forms. Works on a copy of the graph, since their rules and bodies write to it.
class CostReader {
 public:
  explicit CostReader(const Plan& plan) : graph_(*plan.graph), symbols_(graph_.scope().symbol_count()) {
    symbols_ = std::min<std::size_t>(symbols_, plan.registers);
  }

  struct Term {
    double each;
    Dim points;
  };

  /// Adds the operations of a node to `terms`. Returns false if they are not known.
  bool add(NodeId id, std::vector<Term>& terms) {
    std::vector<std::pair<NodeId, Dim>> open{{id, Dim(1)}};
    bool known = true;
    while (!open.empty()) {
      const NodeId node = open.back().first;
      const Dim times = open.back().second;
      open.pop_back();
      if (is_shape_arithmetic(node)) continue;
      std::vector<std::pair<NodeId, Dim>> inner;
      known &= std::visit([&](const auto& form) { return visit(form, node, times, terms, inner); },
                          graph_.node(node).op->form);
      open.insert(open.end(), inner.begin(), inner.end());
    }
    return known;
  }

  const Scope& scope() const { return graph_.scope(); }
  /// Returns true if a session has registers for all symbols of the Dim.
  bool has(Dim d) const {
    if (d.is_const()) return true;
    return std::ranges::all_of(graph_.scope().symbols_of(d), [&](SymbolId s) { return s < symbols_; });
  }

 private:
  using Inner = std::vector<std::pair<NodeId, Dim>>;

  /// Returns true if the results are known as expressions, so that no step computes them.
  bool is_shape_arithmetic(NodeId id) const {
    return std::ranges::all_of(graph_.node(id).out, [&](Value v) { return !v || graph_.known_value(v) != nullptr; });
  }

  bool put(std::vector<Term>& terms, double each, std::vector<Dim> extents) {
    if (each == 0) return true;
    const Dim points = product(Builder(graph_).scope(), extents);
    if (!has(points)) return false;
    terms.push_back({each, points});
    return true;
  }

  bool visit(const Elementwise&, NodeId id, Dim times, std::vector<Term>& terms, Inner&) {
    const Type& type = graph_.type(graph_.node(id).out[0]);
    if (!type.ranked || type.elem == Elem::string || reads_text(id)) return false;
    std::vector<Dim> extents(type.shape.begin(), type.shape.end());
    extents.push_back(times);
    return put(terms, operations(tape_of(graph_, id)), std::move(extents));
  }

  bool reads_text(NodeId id) const {
    return std::ranges::any_of(graph_.node(id).in, [&](Value v) {
      return v && (graph_.type(v).elem == Elem::string || !graph_.type(v).ranked);
    });
  }

  bool visit(const Contraction&, NodeId id, Dim times, std::vector<Term>& terms, Inner&) {
    if (reads_text(id)) return false;
    const auto space = graph_.node(id).space;
    if (!space) return false;
    std::vector<Dim> extents{times};
    bool folds = false;
    for (const Space::Axis& axis : space->axes) {
      extents.push_back(axis.extent);
      folds |= axis.reduced;
    }
    return put(terms, operations(tape_of(graph_, id)) + (folds ? 1 : 0), std::move(extents));
  }

  bool visit(const View&, NodeId, Dim, std::vector<Term>&, Inner&) { return true; }
  bool visit(const Opaque&, NodeId, Dim, std::vector<Term>&, Inner&) { return false; }

  bool visit(const Composite&, NodeId id, Dim times, std::vector<Term>&, Inner& inner) {
    const Node node = graph_.node(id);  // a copy: expand() grows the node table
    if (reads_text(id)) return false;
    const std::size_t before = graph_.block(node.parent).nodes.size();
    Builder builder(graph_, node.parent);
    if (!expand(builder, *node.op, node.in, node.attrs.get(), node.out.size())) return false;
    const auto& nodes = graph_.block(node.parent).nodes;
    for (std::size_t i = before; i < nodes.size(); ++i) inner.emplace_back(nodes[i], times);
    return true;
  }

  bool visit(const Region& region, NodeId id, Dim times, std::vector<Term>&, Inner& inner) {
    Flow flow;
    region.lower(graph_.node(id), graph_, flow);
    const auto trips = trips_of(flow);
    if (!trips) return false;
    const Dim each[] = {times, *trips};
    const Dim all = product(Builder(graph_).scope(), each);
    for (BlockId b : graph_.node(id).blocks) {
      for (NodeId n : graph_.block(b).nodes) inner.emplace_back(n, all);
    }
    return true;
  }

  Graph graph_;
  std::size_t symbols_;
};

Costs::Costs(const Plan& plan) : plan_(plan), steps_(plan.steps.size()) {
  CostReader reader(plan);
  std::vector<std::vector<CostReader::Term>> found(plan.steps.size());
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
