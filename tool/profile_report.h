#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <frazil/profile.h>

#include "tool/perf_counters.h"
#include "tool/report.h"

namespace frazil::tool {

/// The figures of one node or fused group, or of one kind of group, which has no node. Sums over the passes shown.
struct ProfileRow {
  std::string node, op, kernel;
  std::vector<std::string> members;  ///< the nodes of a fused group
  std::uint64_t calls = 0;
  double ns = 0, flops = 0, read = 0, written = 0;
  bool flops_known = true;
  double flop_ns = 0, byte_ns = 0;  ///< lower bounds of the time on this machine
};

/// The cost of profiling: medians of passes of each kind, in alternation.
struct Overhead {
  double alone_ms = 0;  ///< normal runs: with the code of whole plans and on all threads
  double off_ms = 0;    ///< step by step on one thread, without profiling
  double on_ms = 0;     ///< the same, with profiling
  double ratio = 1;     ///< median of on / off over the pairs
};

struct Profile {
  std::vector<ProfileRow> nodes, groups;  ///< longest first
  std::vector<api::Profile::Flow> flows;
  std::uint64_t passes = 0, recorded = 0, requests = 0, plans = 0, shape_changes = 0;
  double request_ns = 0, own_ns = 0, step_ns = 0, flow_ns = 0;
  Overhead overhead;
  std::vector<PerfCounters::Reading> counters;  ///< per pass, without profiling
  std::string counters_missing;
};

/// Compares a recording with the limits of this machine. Reports the cost of profiling separately.
Profile summarise(const api::Profiler& profiler, const Overhead& overhead);

void print_profile(const Profile& profile, std::size_t top);
Json json_of(const Profile& profile);

}  // namespace frazil::tool
