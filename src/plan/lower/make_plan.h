#pragma once

#include <vector>

#include "base/value/error.h"
#include "pass/engine/passes.h"
#include "plan/lower/devices.h"
#include "plan/model/plan.h"

namespace frazil {

struct PlanOptions {
  PassSet passes;
  int verify = 0;                       ///< level, as of FRAZIL_VERIFY
  DevicePlacement placement = nullptr;  ///< null: the host runs everything
};

/// Runs the passes on a graph and lowers the result to a plan. Appends to `ran` what each pass did. Regions become
/// jumps.
/// Returns Code::internal for a plan that verify() rejects.
Result<Plan> make_plan(const Graph& graph, const PlanOptions& options, std::vector<pass::PassRun>& ran);

}  // namespace frazil
