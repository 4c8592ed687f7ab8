#pragma once

#include <string>
#include <vector>

#include "profile/recorder.h"

namespace frazil::profile {

/// The figures of the steps of one node, or of one fused group. They are sums over the passes of a summary.
struct Row {
  std::string node;  ///< the user's name; for a fused group its first node
  std::string op, kernel;
  std::vector<std::string> members;  ///< the nodes of a fused group, if more than one
  std::uint64_t calls = 0;
  double ns = 0, flops = 0, read = 0, written = 0;
  bool flops_known = true;
};

/// The figures of an If or a Loop.
struct Flow {
  std::string node, op;
  bool loop = false;
  FlowTotals totals;
  double self_ns = 0;   ///< excluding the steps and spans inside
  double total_ns = 0;  ///< including the steps and spans inside
};

struct Summary {
  std::vector<Row> rows;       ///< longest first
  std::vector<Flow> flows;     ///< in the order of the plan
  std::uint64_t passes = 0;    ///< number of passes in the figures
  std::uint64_t recorded = 0;  ///< number of passes that ended
  std::uint64_t requests = 0, shape_changes = 0, plans = 0;
  std::uint64_t events = 0;  ///< number of events in the passes of the figures
  double request_ns = 0, step_ns = 0;
  double flow_ns = 0;  ///< time of control flow outside of steps
  double own_ns = 0;   ///< time of profiling within the requests
};

/// Summarises the fastest half of the passes, or all that was recorded if no pass ended. `overhead` is the time of a
/// profiled pass relative to one that is not; the difference is subtracted from the times of control flow.
Summary summarise(const Recorder& recorder, double overhead = 1);

}  // namespace frazil::profile
