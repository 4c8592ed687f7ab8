#include "ir/infer.h"
#include "ir/inference.h"

namespace frazil {
namespace {

/// The context of a type rule that is applied again for what it returns. The node has its constraints from inference:
/// those that the rule adds are dropped.
class QueryCx : public InferCx {
 public:
  QueryCx(Graph& graph, NodeId node) : InferCx(graph, node), constraints_(this->node().constraints.size()) {}
  ~QueryCx() { Inference::keep_constraints(graph_, id_, constraints_); }
  QueryCx(const QueryCx&) = delete;
  QueryCx& operator=(const QueryCx&) = delete;

 private:
  std::size_t constraints_;
};

}  // namespace

Result<Space> space_of(Graph& graph, NodeId node) {
  QueryCx cx(graph, node);
  Space space;
  FRAZIL_CHECK(std::get<Contraction>(cx.node().op->form).space(cx, space));
  return space;
}

Result<std::vector<ViewMap>> views_of(Graph& graph, NodeId node) {
  QueryCx cx(graph, node);
  std::vector<ViewMap> maps;
  FRAZIL_CHECK(std::get<View>(cx.node().op->form).maps(cx, maps));
  return maps;
}

ScalarTape tape_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  ScalarRecorder rec;
  std::vector<Sx> operands;
  for (Value v : node.in) {
    if (v) operands.push_back(rec.load(static_cast<std::uint32_t>(operands.size()), compute_elem(graph.type(v).elem)));
  }
  if (const auto* e = std::get_if<Elementwise>(&node.op->form)) {
    const Elem out = compute_elem(graph.type(node.out[0]).elem);
    return rec.finish(cast(e->body(operands, node.attrs.get()), out));
  }
  return rec.finish(std::get<Contraction>(node.op->form).body(operands, node.attrs.get()));
}

}  // namespace frazil
