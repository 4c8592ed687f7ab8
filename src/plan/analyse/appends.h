#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plan/analyse/needs.h"
#include "plan/analyse/region_flows.h"

namespace frazil {

/// A Concat that extends a value along an axis. Its result then replaces the value: in the next iteration of a loop, or
/// as the input of the next request.
struct Append {
  NodeId node;
  Value from, to;
  std::size_t axis = 0;
  std::uint32_t input = ~0u, output = ~0u;  ///< across requests: the graph input and output; ~0 in a loop
  SymbolId capacity = 0;                    ///< of both values along the axis
  SymbolId input_capacity = 0;              ///< the capacity with which the input arrives

  bool by_request() const { return output != ~0u; }
};

/// The Concats that write only new elements, after the existing ones. Found from the graph alone, before steps are
/// written.
class Appends {
 public:
  /// A value that grows the same way but is copied by each Concat, and the reason.
  struct Copied {
    NodeId node;
    Value from;
    std::string_view why;
  };

  /// Finds nothing if `enabled` is false.
  Appends(const Graph& graph, Scope& scope, const Needs& needs, const RegionFlows& flows, bool enabled);
  /// Returns the append that extends `from`; null if there is none.
  const Append* of(Value from) const;
  const std::vector<Copied>& copied() const { return copied_; }

 private:
  friend class AppendFinder;
  std::unordered_map<std::uint32_t, Append> appends_;  // per older value
  std::vector<Copied> copied_;
};

}  // namespace frazil
