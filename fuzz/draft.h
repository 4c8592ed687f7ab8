#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/edit/builder.h"

// A graph that can be edited arbitrarily and is typed only when it is built.
namespace frazil::fuzz {

inline constexpr int kNoValue = -1;

struct DraftNode;

struct DraftBlock {
  std::vector<int> params;
  std::vector<DraftNode> nodes;
  std::vector<int> results;
};

struct DraftNode {
  const OpDef* op = nullptr;
  Attrs attrs;
  std::string name;
  std::vector<int> in, out;  ///< kNoValue: absent or unwanted
  std::vector<DraftBlock> blocks;
};

/// A type whose extents are text.
struct DraftType {
  Type type;                      ///< its shape is ignored
  std::vector<std::string> dims;  ///< for a tensor
  std::vector<DraftType> item;    ///< one element or none
};

struct DraftInput {
  std::string name;
  int value = 0;
  DraftType type;
};

struct Draft {
  std::vector<DraftInput> inputs;
  std::map<int, Tensor> constants;
  DraftBlock main;  ///< without params
  std::vector<std::string> output_names;
  int next = 0;  ///< the first unused number
};

/// Converts a graph. Unused constants are omitted.
Draft draft_of(const Graph& graph);
DraftType draft_type(const Type& type, const Scope& scope);
/// Builds the graph. `values`, if given, receives the map from the draft's values to the graph's.
Result<Graph> build(const Draft& draft, std::map<int, Value>* values = nullptr);

/// Removes unused nodes and constants. Inputs are kept.
void prune(Draft& draft);
/// Returns the number of uses of each value.
std::map<int, int> uses(const Draft& draft);
/// Replaces uses of `from` by `to`.
void replace_uses(DraftBlock& block, int from, int to);

/// Calls visit for every node, outer ones first.
template <class Visit>
void each_node(DraftBlock& block, Visit visit) {
  for (DraftNode& node : block.nodes) {
    visit(node);
    for (DraftBlock& inner : node.blocks) each_node(inner, visit);
  }
}

}  // namespace frazil::fuzz
