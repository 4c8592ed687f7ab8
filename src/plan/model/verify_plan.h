#pragma once

#include "plan/model/plan.h"

namespace frazil {

/// Checks a plan. Every handle is in its table, steps and slots have the types that they need, and jumps lead to steps.
/// Registers and values are defined before they are read, on every path. Storages that are live at the same time share
/// no pool. A step is prepared again when what it was prepared for changes.
/// A run of an accepted plan reads and writes only its own memory, provided that the run's checks hold. Acceptance does
/// not mean that results are right.
/// A fault is Code::internal and names the step. Takes time and memory linear in the plan. Runs on every plan.
Status verify(const Plan& plan);

}  // namespace frazil
