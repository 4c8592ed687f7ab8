#pragma once

#include "api/open.h"
#include "profile/recorder.h"
#include "tool/requests.h"
#include "tool/view_graph.h"

namespace frazil::tool {

/// Runs all requests several times with `recorder`, and once more to record their values. Returns the data for the
/// page:
///
///   requests, passes, total_us  the time of one pass over all requests
///   nodes   {node: {calls, us}}  per pass; each node of a shared step has its whole time
///   flows   {node: {entries, iterations?, true, false}}  per pass
///   values  {value: {count, summary, type, min?, max?, mean?, nan?} or {removed}}  as last made
///
/// Throws the errors of the runs. Precondition: the requests are preloaded.
Json run_json(exec::Session& session, Requests& requests, const debug::Sites& sites, const Origins& origins,
              profile::Recorder& recorder);

}  // namespace frazil::tool
