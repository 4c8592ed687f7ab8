#pragma once

#include "plan/model/plan.h"

namespace frazil {

/// Checks a plan: every handle is in its table, steps and slots have the types that they need, jumps lead to steps, and
/// on every path registers and values are defined before they are read; storages that are live at the same time share
/// no pool; what a step was prepared for is prepared again when it changes. Accepted means that a run which meets its
/// checks reads and writes no other memory than its own; it does not mean that results are right.
/// A fault is Code::internal and names the step. Takes time and memory linear in the plan; run on every plan.
Status verify(const Plan& plan);

}  // namespace frazil
