#pragma once

#include <string>
#include <vector>

#include "tool/perf_counters.h"
#include "tool/profile_recorder.h"
#include "tool/report.h"

namespace frazil::tool {

/// Steps that belong together: of one node or fused group, or of one kind of group. Figures are sums over `passes`.
struct ProfileRow {
  std::string node;  ///< the user's; of a fused group the first one's; empty in rows by kind
  std::string op, kernel;
  std::vector<std::string> members;  ///< the nodes of a fused group, where there is more than one
  std::uint64_t calls = 0;
  double ns = 0, flops = 0, read = 0, written = 0;
  double flop_ns = 0, byte_ns = 0;  ///< the least that this machine needs for them
  bool flops_known = true;
};

struct FlowRow {
  std::string node, op;
  bool loop = false;
  FlowTotals totals;
};

/// How profiling itself weighs: the same passes without and with it, in turns.
struct Overhead {
  double off_ms = 0, on_ms = 0;  ///< medians
  double ratio = 1;              ///< median of on / off of the pairs
};

struct Profile {
  std::vector<ProfileRow> nodes, groups;  ///< the longest first
  std::vector<FlowRow> flows;             ///< in the tape's order
  std::uint64_t passes = 0;               ///< that the figures are of
  std::uint64_t recorded = 0, requests = 0, shape_changes = 0, plans = 0;
  std::uint64_t told = 0;  ///< events in them
  double request_ns = 0, step_ns = 0;
  double own_ns = 0;  ///< of the requests' time: what profiling took
  double ns_per_tick = 1;
  double ns_per_event = 0;  ///< that profiling took outside of steps
  Overhead overhead;
  std::vector<PerfCounters::Reading> counters;  ///< per pass, without profiling
  std::string counters_missing;
};

/// Sums up the fastest passes. What profiling took is held apart.
Profile summarise(const Recorder& recorder, const Overhead& overhead);

void print_profile(const Profile& profile, std::size_t top);
Json json_of(const Profile& profile);

/// "MatMul_3", or "#7" where the user gave no name.
std::string node_label(const Plan& plan, NodeId id);
/// The node in whose name a step runs, of a group the first one; "" where there is none.
std::string step_label(const Plan& plan, const Step& step);
/// The operators of what a step computes: "MatMul", "Add+Mul+Tanh".
std::string op_label(const Plan& plan, const Step& step);
/// The kernel that serves a launch step: "matmul", "fused".
std::string_view kernel_name(const Plan& plan, const Step& step);

}  // namespace frazil::tool
