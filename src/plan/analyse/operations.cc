#include "plan/analyse/operations.h"

#include <algorithm>
#include <utility>

#include "ir/edit/builder.h"
#include "ir/infer/infer.h"
#include "ir/op/flow.h"

namespace frazil {
namespace {

double operations_of(const ScalarTape& tape) {
  return static_cast<double>(std::ranges::count_if(tape.code, [](const ScalarIns& ins) {
    return ins.op != ScalarOp::load && ins.op != ScalarOp::constant && ins.op != ScalarOp::cast;
  }));
}

/// Returns the value of a counter that the region sets; nullopt if only the run determines it.
std::optional<Dim> start_of(const Flow& flow, std::uint32_t counter, const Node& node, const Graph& graph) {
  using Kind = FlowOp::Kind;
  for (const FlowOp& op : flow.ops) {
    if (op.index != counter) continue;
    if (op.kind == Kind::count_dim) return op.dim;
    if (op.kind == Kind::count) return Dim(op.number);
    if (op.kind != Kind::count_from || op.a.kind != Cell::Kind::input) continue;
    const std::vector<Dim>* const known = graph.known_value(node.in[op.a.index]);
    return known == nullptr || known->size() != 1 ? std::nullopt : std::optional(known->front());
  }
  return std::nullopt;
}

/// Returns how often a region's body runs at most; nullopt if only the run determines it.
std::optional<Dim> trips_of(const Flow& flow, const Node& node, const Graph& graph) {
  using Kind = FlowOp::Kind;
  if (std::ranges::find(flow.ops, Kind::loop, &FlowOp::kind) == flow.ops.end()) return Dim(1);
  const auto leave = std::ranges::find(flow.ops, Kind::leave_at, &FlowOp::kind);
  return leave == flow.ops.end() ? std::nullopt : start_of(flow, leave->limit, node, graph);
}

std::optional<Operations::Kind> kind_of(Opaque::Work work) {
  switch (work) {
    case Opaque::Work::linear: return Operations::Kind::linear;
    case Opaque::Work::sorting: return Operations::Kind::sorting;
    case Opaque::Work::quadratic: return Operations::Kind::quadratic;
    case Opaque::Work::cubic: return Operations::Kind::cubic;
    case Opaque::Work::unknown: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

/// Returns true if the results are known as expressions, so that no step computes them.
bool OperationReader::is_shape_arithmetic(NodeId id) const {
  return std::ranges::all_of(graph_.node(id).out, [&](Value v) { return !v || graph_.known_value(v) != nullptr; });
}

bool OperationReader::reads_text(NodeId id) const {
  return std::ranges::any_of(graph_.node(id).in, [&](Value v) {
    return v && (graph_.type(v).elem == Elem::string || !graph_.type(v).ranked);
  });
}

Dim OperationReader::product(Dim a, Dim b) {
  const Dim both[] = {a, b};
  return frazil::product(Builder(graph_).scope(), both);
}

Dim OperationReader::points_of(Value value) {
  const Type& type = graph_.type(value);
  const std::vector<Dim> extents(type.shape.begin(), type.shape.end());
  return frazil::product(Builder(graph_).scope(), extents);
}

NodeWork OperationReader::work_of(NodeId id) {
  NodeWork work;
  if (is_shape_arithmetic(id)) return work;
  std::visit([&](const auto& form) { visit(form, id, work); }, graph_.node(id).op->form);
  return work;
}

void OperationReader::visit(const Elementwise&, NodeId id, NodeWork& work) {
  const Value out = graph_.node(id).out[0];
  const Type& type = graph_.type(out);
  work.known = type.ranked && type.elem != Elem::string && !reads_text(id);
  if (!work.known) return;
  const double each = operations_of(tape_of(graph_, id));
  if (each != 0) work.terms.push_back({Operations::Kind::element, each, points_of(out)});
}

void OperationReader::visit(const Contraction&, NodeId id, NodeWork& work) {
  const auto space = graph_.node(id).space;
  work.known = space && !reads_text(id);
  if (!work.known) return;
  std::vector<Dim> extents;
  bool folds = false;
  for (const Space::Axis& axis : space->axes) {
    extents.push_back(axis.extent);
    folds |= axis.reduced;
  }
  const double each = operations_of(tape_of(graph_, id)) + (folds ? 1 : 0);
  if (each == 0) return;
  work.terms.push_back({Operations::Kind::product, each, frazil::product(Builder(graph_).scope(), extents)});
}

void OperationReader::visit(const Opaque& form, NodeId id, NodeWork& work) {
  work.known = false;
  const auto kind = kind_of(form.work);
  if (!kind) return;
  const Node node = graph_.node(id);
  Dim points(0);
  for (const auto* values : {&node.in, &node.out}) {
    for (const Value v : *values) {
      if (!v) continue;
      if (!graph_.type(v).is_tensor() || !graph_.type(v).ranked) return;
      points = Builder(graph_).scope().add(points, points_of(v));
    }
  }
  work.terms.push_back({*kind, 1, points});
}

void OperationReader::visit(const Composite&, NodeId id, NodeWork& work) {
  const Node node = graph_.node(id);  // a copy: expand() grows the node table
  const std::size_t before = graph_.block(node.parent).nodes.size();
  Builder builder(graph_, node.parent);
  work.known = !reads_text(id) && expand(builder, *node.op, node.in, node.attrs.get(), node.out.size());
  if (!work.known) return;
  const auto& nodes = graph_.block(node.parent).nodes;
  work.inner.assign(nodes.begin() + static_cast<std::ptrdiff_t>(before), nodes.end());
}

void OperationReader::visit(const Region& form, NodeId id, NodeWork& work) {
  Flow flow;
  form.lower(graph_.node(id), graph_, flow);
  work.trips = trips_of(flow, graph_.node(id), graph_);
  work.known = work.trips.has_value();
}

}  // namespace frazil
