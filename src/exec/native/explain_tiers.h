#pragma once

#include <string>

#include "exec/run/executable.h"

namespace frazil::exec {

/// What runs each kernel step of the plan now, a line each: its number, its tier (2: in the code of the whole plan, 1:
/// a compiled body, 0: a tile program, "kernel": written by hand, "ref": the reference executor, "device"), its nodes,
/// and why it is on no higher tier. Then the codes of the plan with the extents they are for, and the nodes that could
/// have shared a step and do not, with the reason.
std::string explain_tiers(const Executable& executable);

}  // namespace frazil::exec
