#include "ir/infer/infer.h"

namespace frazil {

ScalarTape tape_of(const Graph& graph, NodeId id, Elem result) {
  const Node& node = graph.node(id);
  ScalarRecorder rec;
  std::vector<Sx> operands;
  for (Value v : node.in) {
    if (v) operands.push_back(rec.load(static_cast<std::uint32_t>(operands.size()), compute_elem(graph.type(v).elem)));
  }
  if (const auto* e = std::get_if<Elementwise>(&node.op->form)) {
    return rec.finish(cast(e->body(operands, node.attrs.get()), compute_elem(result)));
  }
  return rec.finish(std::get<Contraction>(node.op->form).body(operands, node.attrs.get()));
}

ScalarTape tape_of(const Graph& graph, NodeId id) {
  const Value first = graph.node(id).out[0];  // absent if only later results of a contraction are wanted
  return tape_of(graph, id, first ? graph.type(first).elem : Elem::f32);
}

}  // namespace frazil
