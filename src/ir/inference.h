#pragma once

#include "ir/builder.h"
#include "ir/graph.h"
#include "ir/infer.h"

namespace frazil {

/// The parts of inference that write a Graph's tables; private to ir/.
class Inference {
 public:
  /// An unbacked symbol that belongs to `block`.
  static Dim unbacked(Graph& graph, BlockId block, Bounds bounds = {});
  /// A backed symbol, read from element `index` of `value` at run time.
  static Dim backed_symbol(Graph& graph, Value value, std::int64_t index);
  /// Records that an unbacked symbol without origin is extent `axis` of `value`.
  static void adopt(Graph& graph, SymbolId symbol, Value value, int axis);
  /// Clears the known values and constraints of a node that is inferred again.
  static void reset_outputs(Graph& graph, NodeId id);
  /// Types the params of block `index` of a region by the operator's rule.
  static Status type_params(Graph& graph, NodeId region, std::size_t index);
  /// Checks input counts and element types against the operator's ports.
  static Status check_inputs(Graph& graph, NodeId node);
  static void set_param_type(Graph& graph, Value param, Type type);
  /// Infers a region whose bodies are complete, and the bodies again while params widen. Not recursive.
  static Status infer_region(Graph& graph, NodeId region);

  static void add_constraints(Graph& graph, NodeId node, std::vector<Constraint> constraints);
  /// Drops all but the first `count` constraints of a node.
  static void keep_constraints(Graph& graph, NodeId node, std::size_t count);
};

Status infer_composite(InferCx& cx);

/// Marks the node whose types are being inferred, as long as it lives. Nodes of a composite's body, which are inferred
/// meanwhile, assume in its place.
class InferringNode {
 public:
  InferringNode(Graph& graph, NodeId node);
  ~InferringNode();
  InferringNode(const InferringNode&) = delete;
  InferringNode& operator=(const InferringNode&) = delete;
  /// Whether the number of axes of its results depends on a number that the graph assumes nothing about.
  bool is_open() const;

 private:
  Graph& graph_;
  const bool outermost_;
};

}  // namespace frazil
