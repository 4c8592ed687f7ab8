#pragma once

#include <string>

#include "exec/run/executable.h"

namespace frazil::exec {

/// Describes how each kernel step of the plan runs, one line per step: its number, its tier, its nodes, and why it is
/// on no higher tier. The tier is 2 (in the code of the whole plan), 1 (a compiled body), 0 (a tile program), "kernel"
/// (written by hand), "ref" (the reference executor) or "device". Then lists the codes of the plan with their extents,
/// and the nodes that could share a step but do not, with the reason.
std::string explain_tiers(const Executable& executable);

}  // namespace frazil::exec
