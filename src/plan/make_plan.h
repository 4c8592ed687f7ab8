#pragma once

#include "base/error.h"
#include "plan/plan.h"

namespace frazil {

/// Turns a graph into a tape. Composites without a kernel are expanded first; nested regions become jumps.
Result<Plan> make_plan(std::shared_ptr<const Graph> graph);

}  // namespace frazil
