#pragma once

#include <vector>

#include "base/value/error.h"
#include "pass/engine/passes.h"
#include "plan/lower/devices.h"
#include "plan/model/plan.h"

namespace frazil {

struct PlanOptions {
  PassSet passes;
  int verify = 0;                       ///< as FRAZIL_VERIFY
  DevicePlacement placement = nullptr;  ///< null: the host runs everything
};

/// Runs the passes on a graph, appending what each did to `ran`, and lowers the result to a plan. Regions become jumps.
/// Code::internal for a plan that `verify` refuses.
Result<Plan> make_plan(const Graph& graph, const PlanOptions& options, std::vector<pass::PassRun>& ran);

}  // namespace frazil
