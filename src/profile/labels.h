#pragma once

#include <string>
#include <string_view>

#include "plan/analyse/cost.h"
#include "plan/model/plan.h"

namespace frazil::profile {

/// Returns "MatMul_3", or "#7" for a node without a name.
std::string node_label(const Plan& plan, NodeId id);
/// Returns the name of the step's node, or of the first node of a group; "" without a node.
std::string step_label(const Plan& plan, const Step& step);
/// Returns the operators that a step computes: "MatMul", "Add+Mul+Tanh".
std::string op_label(const Plan& plan, const Step& step);
/// Returns the kernel of a launch step: "matmul", "fused".
std::string_view kernel_name(const Plan& plan, const Step& step);

}  // namespace frazil::profile
