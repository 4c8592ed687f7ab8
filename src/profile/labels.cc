#include "profile/labels.h"

#include <algorithm>
#include <vector>

#include "ir/op/op.h"

namespace frazil::profile {

std::string node_label(const Plan& plan, NodeId id) {
  const Node& node = plan.graph->node(id);
  return node.name.empty() ? fmt::format("#{}", node.stable) : node.name;
}

std::string step_label(const Plan& plan, const Step& step) {
  if (!step.members.empty()) return node_label(plan, step.members.front());
  return step.node ? node_label(plan, step.node) : "";
}

std::string_view kernel_name(const Plan& plan, const Step& step) {
  const auto kernel = plan.kernel_of(step);
  return kernel ? name_of(*kernel) : std::string_view();
}

std::string op_label(const Plan& plan, const Step& step) {
  constexpr std::size_t kMaxLength = 48;
  std::vector<NodeId> members = members_of(step);
  if (members.empty() && step.node) members = {step.node};
  std::vector<std::string_view> ops;
  for (const NodeId id : members) {
    const std::string_view op = plan.graph->node(id).op->name;
    if (std::ranges::find(ops, op) == ops.end()) ops.push_back(op);
  }
  std::string text = fmt::format("{}", fmt::join(ops, "+"));
  if (text.size() > kMaxLength) text = text.substr(0, kMaxLength) + "~";
  return text;
}

}  // namespace frazil::profile
