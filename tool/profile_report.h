#pragma once

#include <string>
#include <vector>

#include "tool/perf_counters.h"
#include "tool/profile_recorder.h"
#include "tool/report.h"

namespace frazil::tool {

/// Figures of steps that are reported together: those of one node or fused group, or of one kind of group. They are
/// sums over `passes`.
struct ProfileRow {
  std::string node;  ///< the user's name; for a fused group its first node; empty in rows by kind
  std::string op, kernel;
  std::vector<std::string> members;  ///< the nodes of a fused group, if more than one
  std::uint64_t calls = 0;
  double ns = 0, flops = 0, read = 0, written = 0;
  double flop_ns = 0, byte_ns = 0;  ///< lower bounds of the time on this machine
  bool flops_known = true;
};

struct FlowRow {
  std::string node, op;
  bool loop = false;
  FlowTotals totals;
  double self_ns = 0;   ///< excluding the steps and spans inside
  double total_ns = 0;  ///< including the steps and spans inside
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
  std::vector<FlowRow> flows;             ///< in the order of the plan
  std::uint64_t passes = 0;               ///< number of passes in the figures
  std::uint64_t recorded = 0, requests = 0, shape_changes = 0, plans = 0;
  std::uint64_t events = 0;  ///< number of events in these passes
  double request_ns = 0, step_ns = 0;
  double flow_ns = 0;  ///< time of control flow outside of steps
  double own_ns = 0;   ///< time of profiling within the requests
  double ns_per_tick = 1;
  double ns_per_event = 0;  ///< time of profiling outside of steps
  Overhead overhead;
  std::vector<PerfCounters::Reading> counters;  ///< per pass, without profiling
  std::string counters_missing;
};

/// Summarises the fastest passes. Reports the cost of profiling separately.
Profile summarise(const Recorder& recorder, const Overhead& overhead);

void print_profile(const Profile& profile, std::size_t top);
Json json_of(const Profile& profile);

/// Returns "MatMul_3", or "#7" for a node without a name.
std::string node_label(const Plan& plan, NodeId id);
/// Returns the name of the step's node, or of the first node of a group; "" without a node.
std::string step_label(const Plan& plan, const Step& step);
/// Returns the operators that a step computes: "MatMul", "Add+Mul+Tanh".
std::string op_label(const Plan& plan, const Step& step);
/// Returns the kernel of a launch step: "matmul", "fused".
std::string_view kernel_name(const Plan& plan, const Step& step);

}  // namespace frazil::tool
