#pragma once

#include "govern/report/pipeline_report.h"

namespace frazil::govern {

/// The nodes that every path to a node of a pipeline passes.
struct RouteOrder {
  /// [{to, always: [name]}] for each target that a path can reach: the targets and the nodes ("node 'check'") that have
  /// succeeded on every path to it. Those of called pipelines are included, except their nodes.
  Json passes;
  /// [name] that have succeeded in each request that succeeds.
  Json always;
};

/// Follows the structure: a choice keeps what all of its branches pass, a fallback and a race too, an ensemble what
/// succeeds in any `least` of its blocks. A loop that may end before its first iteration, and a shadow, add nothing for
/// what follows.
RouteOrder order_of(const Route& route, const std::vector<CalledReport>& called);

}  // namespace frazil::govern
