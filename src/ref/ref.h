#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "tensor/datum.h"

namespace frazil {

/// Is told the values of a run, each as soon as it is there.
class ValueListener {
 public:
  virtual ~ValueListener() = default;
  /// Before all others: the graph that runs, whose values are told, constants aside.
  virtual void begin(const Graph& graph) = 0;
  /// `iterations`: numbers of the loops around v, from 0 on, outermost first.
  virtual void defined(Value v, const Datum& value, std::span<const std::int64_t> iterations) = 0;
};

/// Runs the graph: the oracle of every other executor; slow and obvious. Inputs come in graph order; an empty Datum, an
/// undefined tensor or a missing last one stands for the input's default. Code::bad_input names an input that does not
/// have its type; a named symbol must mean the same extent everywhere. Each result is held against its inferred type
/// and content: a difference is Code::internal. The current thread's ExecutionLimits limits it, without one the usual
/// Limits; its steps are nodes and iterations.
Result<std::vector<Datum>> run_reference(const Graph& graph, std::span<const Datum> inputs,
                                         ValueListener* listener = nullptr);

/// Runs one node of any form but Region on concrete inputs, one per input of the node (nullopt: absent). Gives one
/// Datum per output, empty where the output is not wanted. Errors begin with the node's description.
Result<std::vector<Datum>> run_node(const Graph& graph, NodeId node, std::span<const std::optional<Datum>> inputs);

}  // namespace frazil
