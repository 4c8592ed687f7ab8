#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pass/batch/row_axes.h"

// Operators whose results depend on several rows, in a graph of joined requests.
namespace frazil::pass {

/// A node while the graph of joined requests is written.
struct RaggedSite {
  const Node& node;
  Builder& to;
  std::span<const Value> in;  ///< the node's inputs in the new graph
  const RowAxes& axes;
  Value lengths;  ///< [requests], in the new graph
};

/// The places of joined rows in a padded batch, written once for all nodes.
struct RowPlaces {
  Value lengths;  ///< i32 [requests]
  Value rows;     ///< i64 [longest, requests]: the row at each step of each request; row 0 after its end
  Value places;   ///< i64 [rows]: the position of each row in [longest * requests]
};

struct RaggedRule {
  RowAxes::Served served;
  /// Returns the results that `served` announces; null if the node stays as it is.
  Result<std::vector<Value>> (*make)(const RaggedSite& site, RowPlaces& places);
};

/// Returns the operators with a rule.
std::span<const RowAxes::Served> ragged_operators();
/// Returns the rule of an operator whose nodes are replaced; null without one.
const RaggedRule* ragged_rule_of(const OpDef& op);

}  // namespace frazil::pass
