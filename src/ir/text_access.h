#pragma once

#include "ir/graph.h"

namespace frazil {

/// Write access to a Graph's tables for the parser and for Patch; private to ir/.
class TextReader {
 public:
  static Scope& scope(Graph& graph) { return graph.scope_; }
  static Node& node(Graph& graph, NodeId id) { return graph.nodes_[id.id]; }
  static Block& block(Graph& graph, BlockId id) { return graph.blocks_[id.id]; }
  static Choices& choices(Graph& graph) { return graph.choices_; }
  static std::uint32_t next_stable(const Graph& graph) { return graph.next_stable_; }
  static std::vector<std::string>& output_names(Graph& graph) { return graph.output_names_; }
};

}  // namespace frazil
