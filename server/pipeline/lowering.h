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
  /// Adds a step that runs a part of the node, whose results are scalars.
  std::vector<api::Term> part(const Node& node, std::int64_t part, std::vector<api::Term> operands,
                              const std::vector<api::Dtype>& results);
  enum Part : std::int64_t {
    kWhole,
    kEnter,  ///< marks the begin of a node that is more than one step; the node does not see marks
    kLeave,
    kEnterLoop,  ///< the same for a loop
    kLeaveLoop,
    kIterated,  ///< the end of an iteration
    kOwn        ///< from here on, parts that the node chooses
  };

 private:
  std::vector<api::Term> add(const Node& node, std::int64_t part, std::vector<api::Term> operands,
                             std::vector<std::string> types);

  api::Body* body_;
  std::vector<const Node*>* nodes_;
  std::map<std::size_t, api::Term> values_;
};

}  // namespace frazil::server
