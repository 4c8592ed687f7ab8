#pragma once

#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "ref/symbols.h"
#include "tensor/datum.h"

namespace frazil::ref {

/// The values and symbols of a graph during a run. Holds a value from its definition to its last use.
class Environment {
 public:
  explicit Environment(const Graph& graph);

  /// Returns a constant, or the current value; an empty Datum for an absent operand.
  Datum value(Value v) const;
  /// Sets a value and the symbols that it determines. Returns Code::internal, with `who` in the message, if the datum
  /// does not fit the value's type.
  Status define(Value v, Datum datum, std::string_view who);
  /// Sets only the symbols that the value determines.
  void bind_from(Value v, const Datum& datum) { symbols_.bind_from(v, datum); }
  /// Sets the symbols of a parameter's extents.
  void bind_extents(Value param, const Tensor& tensor);
  /// Returns Code::bad_input if a constraint of the node does not hold.
  Status check_constraints(NodeId id);
  /// Releases the values that the node has read last.
  void release(NodeId id);
  SymbolTable& symbols() { return symbols_; }

 private:
  const Graph& graph_;
  SymbolTable symbols_;
  std::vector<Datum> values_;                   // per value
  std::vector<std::vector<Value>> dead_after_;  // per node: values with no later use
};

}  // namespace frazil::ref
