#pragma once

#include "ir/builder.h"
#include "ir/graph.h"
#include "ir/infer.h"

namespace frazil {

/// The parts of inference that write into a Graph's tables; private to ir/.
class Inference {
 public:
  /// An unbacked symbol that belongs to `block`.
  static Dim unbacked(Graph& graph, BlockId block, Bounds bounds = {});
  /// The backed symbol read from element `index` of `value` at run time.
  static Dim backed_symbol(Graph& graph, Value value, std::int64_t index);
  /// Records that an unbacked symbol without origin is extent `axis` of `value`.
  static void adopt(Graph& graph, SymbolId symbol, Value value, int axis);
  /// Forgets the known value and constraints of a node that is inferred again.
  static void reset_outputs(Graph& graph, NodeId id);
  /// Gives block `index` of a region its param types as the operator's rule says.
  static Status type_params(Graph& graph, NodeId region, std::size_t index);
  /// Counts and element types against the operator's ports.
  static Status check_inputs(Graph& graph, NodeId node);
  static void set_param_type(Graph& graph, Value param, Type type);
  /// Infers a region whose bodies are complete, and the bodies again as long as params widen. No native recursion.
  static Status infer_region(Graph& graph, NodeId region);

  static void add_constraints(Graph& graph, NodeId node, std::vector<Constraint> constraints);
};

Status infer_composite(InferCx& cx);

}  // namespace frazil
