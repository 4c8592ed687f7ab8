#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <frazil/build.h>

#include "server/pipeline/formula.h"
#include "server/pipeline/node.h"

namespace frazil::server {

/// Adds the nodes of a block to the body of a graph. Control flow becomes If and Loop, and every other node is a step:
/// an operator that calls Node::run(). Values have any rank, so that they pass between steps without copies.
class Lowering {
 public:
  /// `nodes` receives the node of each step, by number.
  Lowering(api::Body& body, std::vector<const Node*>& nodes) : body_(&body), nodes_(&nodes) {}
  /// Returns a lowering to a nested body, which may use the values that are defined here.
  Lowering inside(api::Body& body) const;
  /// Returns a lowering to the body of a loop. `first`: bool[], true in the first iteration.
  Lowering iteration(api::Body& body, api::Term first) const;

  api::Body& body() const { return *body_; }
  api::Term value(const Slot& slot) const { return values_.at(slot.id); }
  std::vector<api::Term> values(const std::vector<Slot>& slots) const;
  void define(const std::vector<Slot>& slots, std::span<const api::Term> terms);
  Formula::Decision decision(const Formula& formula) const;
  /// Returns the formula's value: f64[] or string[].
  api::Term value(const Formula& formula) const;

  /// Adds the nodes of a block, and returns its results.
  std::vector<api::Term> block(const Block& block);
  /// Adds a step that runs the whole node.
  std::vector<api::Term> step(const Node& node, std::vector<api::Term> operands, const std::vector<Slot>& results);
  /// Adds a step that runs a part of the node, whose results are scalars. `part` is positive and chosen by the node.
  std::vector<api::Term> part(const Node& node, std::int64_t part, std::vector<api::Term> operands,
                              const std::vector<api::Dtype>& results);
  /// Add marks of the begin and the end of a node that is more than one step. Marks count the node's runs.
  void enter(const Node& node) { part(node, kEnter, {}, {}); }
  void leave(const Node& node) { part(node, kLeave, {}, {}); }

  static constexpr std::int64_t kWhole = 0, kEnter = -1, kLeave = -2;  ///< parts of every node

 private:
  std::vector<api::Term> add(const Node& node, std::int64_t part, std::vector<api::Term> operands,
                             std::vector<std::string> types);

  api::Body* body_;
  std::vector<const Node*>* nodes_;
  api::Term first_;  // none outside of loops
  std::map<std::size_t, api::Term> values_;
};

}  // namespace frazil::server
