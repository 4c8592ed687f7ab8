#pragma once

#include "govern/report/pipeline_report.h"
#include "server/pipeline/pipeline.h"

namespace frazil::server {

/// Returns the tree of a pipeline as reports read it.
govern::Route route_of(const Pipeline& pipeline);

}  // namespace frazil::server
