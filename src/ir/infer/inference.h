#pragma once

#include "ir/edit/graph_writer.h"
#include "ir/infer/infer.h"

// The parts of inference that Builder and the rules of forms share. Private to ir/.
namespace frazil {

/// Types the params of body `index` of a region by the operator's rule.
Status type_params(Graph& graph, NodeId region, std::size_t index);
/// Checks input counts and element types against the operator's ports.
Status check_inputs(Graph& graph, NodeId node);
/// Infers a region whose bodies are complete. Infers the bodies again while params widen. Not recursive.
Status infer_region(Graph& graph, NodeId region);
/// Infers the types of a composite: expands its body in `graph`, then rolls it back.
Status infer_composite(Graph& graph, InferCx& cx);

/// Marks a node as the one whose types are being inferred, during its lifetime. Nodes of a composite's body that are
/// inferred meanwhile record their assumptions for that node.
class InferringNode {
 public:
  InferringNode(Graph& graph, NodeId node);
  ~InferringNode();
  InferringNode(const InferringNode&) = delete;
  InferringNode& operator=(const InferringNode&) = delete;
  /// Returns true if the rank of the node's results depends on a number about which the graph assumes nothing.
  bool is_open() const;

 private:
  GraphWriter graph_;
  const bool outermost_;
};

}  // namespace frazil
