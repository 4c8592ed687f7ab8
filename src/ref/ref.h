#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph/graph.h"
#include "tensor/datum.h"

namespace frazil {

/// A listener that receives each value of a run as soon as it is computed.
class ValueListener {
 public:
  virtual ~ValueListener() = default;
  /// Called first, with the graph that runs. Its values are reported, except constants.
  virtual void begin(const Graph& graph) = 0;
  /// Called for each value. `iterations` are the iteration numbers of the loops around v, from 0 on, outermost first.
  virtual void defined(Value v, const Datum& value, std::span<const std::int64_t> iterations) = 0;
};

/// Runs the graph on the reference executor. It is slow and simple; tests compare the other executors with it. Inputs
/// are in graph order; an empty Datum, an undefined tensor or a missing trailing input selects the input's default.
/// Code::bad_input names an input that does not fit its type. A named symbol must have the same extent everywhere. Each
/// result is checked against its inferred type and known value; a difference is Code::internal. The current thread's
/// ExecutionLimits apply, or else the default Limits. Steps are nodes and iterations. `listener` may be null.
Result<std::vector<Datum>> run_reference(const Graph& graph, std::span<const Datum> inputs,
                                         ValueListener* listener = nullptr);

/// Runs one node of any form except Region on concrete inputs, one per input of the node (nullopt: absent). Returns one
/// Datum per output, empty for unwanted ones. Errors begin with the node's description.
Result<std::vector<Datum>> run_node(const Graph& graph, NodeId node, std::span<const std::optional<Datum>> inputs);

}  // namespace frazil
