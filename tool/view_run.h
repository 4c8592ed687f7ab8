#pragma once

#include "exec/run/session.h"
#include "tool/profile_recorder.h"
#include "tool/requests.h"
#include "tool/view_graph.h"

namespace frazil::tool {

/// Runs all requests a few times with `recorder`, and once more to see their values. Returns what the page shows:
///
///   requests, passes, total_us  the time of one pass over all requests
///   nodes   {node: {calls, us}}  per pass; nodes that share a step have its whole time each
///   flows   {node: {entries, iterations?, true, false}}  per pass
///   values  {value: {count, summary, type, min?, max?, mean?, nan?} or {removed}}  as last made
///
/// Faults are those of the run. Precondition: the requests are preloaded.
Result<Json> run_json(exec::Session& session, Requests& requests, const debug::Sites& sites, const Origins& origins,
                      Recorder& recorder);

}  // namespace frazil::tool
