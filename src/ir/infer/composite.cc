#include <algorithm>

#include "base/limits/load_scope.h"
#include "ir/edit/builder.h"
#include "ir/graph/key.h"
#include "ir/infer/inference.h"

namespace frazil {
namespace {

/// Translates the results of a composite out of its expansion, which is then discarded.
class CompositeExit {
 public:
  CompositeExit(InferCx& cx, const GraphWriter::Mark& mark) : cx_(cx), mark_(mark) {}

  /// Returns true if d reads a symbol that an inner value defines.
  bool leaks(Dim d) const {
    return std::ranges::any_of(cx_.scope().symbols_of(d), [&](SymbolId s) {
      if (s < mark_.symbols) return false;
      const auto origin = cx_.graph().origin(s);
      return !origin || origin->value.id >= mark_.values;
    });
  }

  Type type(std::size_t output, Type inner) const {
    for (std::size_t axis = 0; axis < inner.shape.size(); ++axis) {
      Dim& d = inner.shape[axis];
      if (leaks(d)) d = cx_.data_extent(output, static_cast<int>(axis), cx_.scope().bounds(d));
    }
    return inner;
  }

  void result(std::size_t output, Value v) const {
    const std::optional<std::vector<Dim>> known =
        cx_.graph().known_value(v) ? std::optional(*cx_.graph().known_value(v)) : std::nullopt;
    cx_.out(output, type(output, cx_.graph().type(v)));
    if (known && std::ranges::none_of(*known, [&](Dim d) { return leaks(d); })) cx_.out_known_value(output, *known);
  }

  /// Returns the constraints of inner nodes that can be expressed outside.
  std::vector<Constraint> constraints() const {
    std::vector<Constraint> kept;
    for (std::size_t n = mark_.nodes; n < cx_.graph().node_count(); ++n) {
      for (const Constraint& c : cx_.graph().node(NodeId{static_cast<std::uint32_t>(n)}).constraints) {
        if (!leaks(c.a) && !leaks(c.b)) kept.push_back(c);
      }
    }
    return kept;
  }

 private:
  InferCx& cx_;
  const GraphWriter::Mark& mark_;
};

/// Checks the element type of an output: an attribute may request one that the operator does not support.
Status check_output(InferCx& cx, std::size_t i, const Type& type) {
  const auto ports = cx.node().op->outputs;
  const Port& port = ports[std::min(i, ports.size() - 1)];
  if (port.set == 0 || !type.is_tensor() || contains(port.set, type.elem)) return {};
  return cx.error("output '{}' cannot be {}", port.name, name_of(type.elem));
}

/// Returns the key of what the types of a composite depend on: operator, attributes, wanted results, and of each
/// operand the type, the known value and the elements of a small constant. Returns nullopt if an operand is not a
/// ranked tensor.
std::optional<std::string> key_of(const Graph& graph, const Node& node) {
  constexpr std::int64_t kFewElements = 64;  // larger constants are weights, which no extent depends on
  Key key;
  key.add(std::uint64_t{reinterpret_cast<std::uintptr_t>(node.op)}).add_attributes(node);
  for (const Value v : node.out) key.add(std::uint64_t{static_cast<bool>(v)});
  const auto add_dims = [&](const std::vector<Dim>& dims) {
    key.add(std::uint64_t{dims.size()});
    for (const Dim d : dims) key.add(d.bits());
  };
  for (const Value v : node.in) {
    key.add(std::uint64_t{static_cast<bool>(v)});
    if (!v) continue;
    const Type& type = graph.type(v);
    if (!type.is_tensor() || !type.ranked) return std::nullopt;
    key.add(static_cast<std::uint64_t>(type.elem));
    add_dims(type.shape);
    const std::vector<Dim>* const known = graph.known_value(v);
    key.add(std::uint64_t{known != nullptr});
    if (known != nullptr) add_dims(*known);
    const Constant* const constant = graph.constant(v);
    key.add(std::uint64_t{constant != nullptr});
    if (constant != nullptr && constant->tensor.count() <= kFewElements) key.add(constant->tensor);
  }
  return key.bytes();
}

Status expand_for_types(Graph& graph, InferCx& cx) {
  const Node node = cx.node();
  const GraphMemory memory;
  Builder builder(graph, node.parent);
  const GraphWriter::Mark mark = builder.mark();
  auto results = expand(builder, *node.op, node.in, node.attrs.get(), node.out.size());
  if (!results) {
    builder.rollback(mark);
    return at_node(graph.describe(cx.id()), std::move(results).error());
  }
  const CompositeExit exit(cx, mark);
  for (std::size_t i = 0; i < results->size(); ++i) {
    const Value v = (*results)[i];
    if (!v) continue;
    if (const Status fits = check_output(cx, i, graph.type(v)); !fits) {
      builder.rollback(mark);
      return fits;
    }
    exit.result(i, v);
  }
  std::vector<Constraint> constraints = exit.constraints();
  builder.rollback(mark);
  cx.add_constraints(std::move(constraints));
  return {};
}

}  // namespace

Status infer_composite(Graph& graph, InferCx& cx) {
  constexpr std::size_t kMaxKeys = 256;
  const auto key = key_of(graph, cx.node());
  if (!key) return expand_for_types(graph, cx);
  const GraphWriter write(graph);
  auto& memo = write->composite_types;
  if (const auto at = memo.find(*key); at != memo.end()) {
    cx.out(at->second.results);
    cx.add_constraints(at->second.constraints);
    return {};
  }
  const std::size_t symbols = graph.scope().symbol_count(), assumptions = graph.assumptions().size();
  FRAZIL_CHECK(expand_for_types(graph, cx));
  if (graph.scope().symbol_count() != symbols || graph.assumptions().size() != assumptions) return {};
  if (memo.size() == kMaxKeys) memo.clear();
  memo.emplace(*key, CompositeTypes{cx.found().outputs, cx.found().constraints});
  return {};
}

}  // namespace frazil
