#pragma once

#include <string>
#include <vector>

#include "profile/summary.h"
#include "tool/perf_counters.h"
#include "tool/report.h"

namespace frazil::tool {

/// The figures of one node or fused group, or of one kind of group, which has no node.
struct ProfileRow : profile::Row {
  double flop_ns = 0, byte_ns = 0;  ///< lower bounds of the time on this machine
};

/// The cost of profiling: medians of passes of each kind, in alternation.
struct Overhead {
  double alone_ms = 0;  ///< normal runs: with the code of whole plans and on all threads
  double off_ms = 0;    ///< step by step on one thread, without profiling
  double on_ms = 0;     ///< the same, with profiling
  double ratio = 1;     ///< median of on / off over the pairs
};

struct Profile : profile::Summary {
  std::vector<ProfileRow> nodes, groups;  ///< longest first
  Overhead overhead;
  std::vector<PerfCounters::Reading> counters;  ///< per pass, without profiling
  std::string counters_missing;
};

/// Summarises the fastest passes. Reports the cost of profiling separately.
Profile summarise(const profile::Recorder& recorder, const Overhead& overhead);

void print_profile(const Profile& profile, std::size_t top);
Json json_of(const Profile& profile);

}  // namespace frazil::tool
