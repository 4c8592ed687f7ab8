#include "server/pipeline/node.h"

#include <algorithm>

#include "server/pipeline/lowering.h"

namespace frazil::server {

void Node::run(StepCall call) const {
  const auto done = call.done;
  try {
    start(std::move(call));
  } catch (...) {
    done(std::unexpected(refusal_of_exception()));
  }
}

void StepNode::lower(Lowering& to) const {
  std::vector<api::Term> operands;
  for (const Slot& slot : reads()) operands.push_back(to.value(slot));
  to.define(writes(), to.step(*this, std::move(operands), writes()));
}

void add_slots(std::vector<Slot>& to, const std::vector<Slot>& more) {
  for (const Slot& slot : more) {
    if (std::ranges::find(to, slot) == to.end()) to.push_back(slot);
  }
}

std::vector<Slot> Block::captured() const {
  std::vector<Slot> outer, own;
  const auto read = [&](const std::vector<Slot>& slots) {
    for (const Slot& slot : slots) {
      if (std::ranges::find(own, slot) == own.end()) add_slots(outer, {slot});
    }
  };
  for (const NodePtr& node : nodes) {
    read(node->reads());
    add_slots(own, node->writes());
  }
  read(results);
  return outer;
}

Clock::duration Block::expected() const {
  auto sum = Clock::duration::zero();
  for (const NodePtr& node : nodes) sum += node->expected();
  return sum;
}

void for_each_guard(const Block& block, const std::function<void(const Node& split, const NodeView::Branch& arm)>& f) {
  for (const NodePtr& node : block.nodes) {
    for (const NodeView::Branch& branch : node->view().branches) {
      if (branch.rollback != nullptr) f(*node, branch);
      for_each_guard(*branch.block, f);
    }
  }
}

}  // namespace frazil::server
