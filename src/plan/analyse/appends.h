#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plan/analyse/needs.h"
#include "plan/analyse/region_flows.h"

namespace frazil {

/// A value that a Concat makes longer and that then stands for the older one: in a loop, or from one request to the
/// next.
struct Append {
  NodeId node;
  Value from, to;
  std::size_t axis = 0;
  std::uint32_t input = ~0u, output = ~0u;  ///< from request to request: which input and output
  SymbolId capacity = 0;                    ///< of both along the axis
  SymbolId input_capacity = 0;              ///< what the input comes with

  bool by_request() const { return output != ~0u; }
};

/// Which Concats write only what is new, behind what is there. Decided from the graph alone, before steps are written.
class Appends {
 public:
  /// A value that grows so as well, and why each Concat copies it.
  struct Copied {
    NodeId node;
    Value from;
    std::string_view why;
  };

  /// `enabled` false: none.
  Appends(const Graph& graph, Scope& scope, const Needs& needs, const RegionFlows& flows, bool enabled);
  /// The append whose older value is `from`; null if there is none.
  const Append* of(Value from) const;
  const std::vector<Copied>& copied() const { return copied_; }

 private:
  friend class AppendFinder;
  std::unordered_map<std::uint32_t, Append> appends_;  // per older value
  std::vector<Copied> copied_;
};

}  // namespace frazil
