#include "trace.h"

#include <algorithm>
#include <iterator>

namespace digits {

std::vector<Trace::Node> Trace::nodes_of(const std::string& stage) const {
  std::vector<Node> found;
  std::ranges::copy_if(nodes_, std::back_inserter(found),
                       [&](const Node& node) { return node.name.starts_with(stage + "/"); });
  return found;
}

Trace::Sides Trace::sides(const std::string& if_node) const {
  const auto at = sides_.find(if_node);
  return at == sides_.end() ? Sides{} : at->second;
}

std::int64_t Trace::iterations(const std::string& loop_node) const {
  const auto at = iterations_.find(loop_node);
  return at == iterations_.end() ? 0 : at->second;
}

void Trace::run_begin() {
  refusals_ = steps_ = 0;
  in_loop_ = false;
}

void Trace::node_begin(const frazil::NodeEvent& node) {
  if (std::ranges::find(nodes_, node.name, &Node::name) == nodes_.end()) {
    nodes_.push_back({std::string(node.name), std::string(node.op), in_loop_});
  }
}

void Trace::branch(const frazil::NodeEvent& node, bool taken) {
  if (node.op == "Loop") in_loop_ = taken;
  if (node.op != "If") return;
  Sides& sides = sides_[std::string(node.name)];
  ++(taken ? sides.yes : sides.no);
  if (!taken) ++refusals_;
}

void Trace::iteration(const frazil::NodeEvent& node) {
  ++iterations_[std::string(node.name)];
  ++steps_;
}

}  // namespace digits
