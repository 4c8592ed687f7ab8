#pragma once

#include "govern/report/pipeline_report.h"

namespace frazil::govern {

/// The sources that may influence the route and the outputs of a pipeline. The sources are
///   tensor:NAME     an input of the pipeline
///   parameter:NAME  a parameter of the request that a formula reads
///   feature:NAME    an output of a step `features`, as "STEP.OUTPUT"
///   http, code      answers of other servers, and of programs
///   chance          shares without a key, races, and random operators
///   clock           deadlines, time-outs, and which of several blocks ends first
///   state           what earlier requests left: the state of a sequence, guards that roll an arm back, defaults
/// Whether a request fails is not part of it, unless a fallback, a race, an ensemble or a shadow goes on without the
/// block that failed: then it also decides whether later nodes of the block run. Choices that an operator forces when a
/// request is replayed are not part of it either.
struct RouteInfluence {
  /// "output 'y'", "node 'route'" for each node that decides, and the names of target_of() for what may choose whether
  /// it runs: {key: [sources]}
  Json influence;
  /// {target: [sources]} whose values it may get, including those of `influence`.
  Json reaches;
};

/// Follows values through the nodes, and conditions to all that runs under them, until nothing is added.
RouteInfluence influence_of(const Route& route, const std::vector<CalledReport>& called);

}  // namespace frazil::govern
