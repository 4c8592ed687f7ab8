#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace frazil::api {

struct ProfilerImpl;
class Session;

/// The figures of a recording: sums over `passes` passes. Times are in seconds.
struct Profile {
  /// A node, or a group of nodes that one kernel computes.
  struct Row {
    std::string node;  ///< its name; of a group, the name of its first node; "#7" for a node without a name
    std::string op;    ///< "MatMul"; of a group, all of its operators: "Add+Mul+Tanh"
    std::string kernel;
    std::vector<std::string> members;  ///< the nodes of a group
    std::uint64_t calls = 0;
    double seconds = 0;
    double flops = 0, bytes_read = 0, bytes_written = 0;  ///< from the definitions of the operators
    bool flops_known = true;
  };
  /// An If or a Loop.
  struct Flow {
    std::string node, op;
    bool loop = false;
    std::uint64_t entries = 0, iterations = 0;
    std::uint64_t taken = 0, not_taken = 0;  ///< If: how often each branch; Loop: values of its condition
    double seconds = 0;                      ///< including the nodes inside
    double self_seconds = 0;                 ///< excluding the nodes inside
  };
  std::vector<Row> rows;    ///< longest first
  std::vector<Flow> flows;  ///< in the order of the plan
  std::uint64_t passes = 0;
  std::uint64_t runs = 0;  ///< all recorded runs
  std::uint64_t plans = 0, shape_changes = 0;
  double seconds = 0;          ///< of the runs
  double own_seconds = 0;      ///< the part of `seconds` that profiling took, for a known overhead
  std::uint64_t recorded = 0;  ///< passes that ended; `passes` are the fastest half of them
  double step_seconds = 0;     ///< of the rows
  double flow_seconds = 0;     ///< of control flow outside of the rows

  /// Returns the rows as a table: node, operators, kernel, calls, time, share. Longer tables end after `most` rows.
  std::string table(std::size_t most = 40) const;
};

struct ProfilerOptions {
  std::size_t trace_events = 0;  ///< most events that the trace keeps, the first ones; each takes 40 bytes. 0: no trace
};

/// A recorder of the runs of sessions, one session at a time. A handle: copies share the recording. It keeps the models
/// of its sessions. Use it on the session's thread, between runs.
///
///   Profiler profiler;
///   session.start_profile(profiler);
///   for (int i = 0; i < 20; ++i) session.run({{"x", x}});
///   session.stop_profile();
///   std::puts(profiler.profile().table().c_str());
class Profiler {
 public:
  explicit Profiler(const ProfilerOptions& options = {});

  /// Ends a pass: runs whose times belong together, such as one run, or all requests of a stream. If a pass has ended,
  /// profile() covers the fastest half of the passes, which were disturbed least; else it covers all runs.
  void end_pass();
  /// Discards the recording.
  void reset();
  /// Returns the figures. `overhead` is the time of a profiled pass relative to one that is not, if it is known; the
  /// difference is subtracted from the times of control flow.
  Profile profile(double overhead = 1) const;
  /// Returns the recorded events as JSON text in the trace event format of Chrome and Perfetto: runs, nodes, loops,
  /// iterations and branches, and compilations of the process. `title` names the process in the trace.
  std::string trace(std::string_view title = "model") const;
  /// Writes the same text to `out`, in parts.
  void write_trace(std::ostream& out, std::string_view title = "model") const;
  struct Events {
    std::size_t kept = 0;
    std::uint64_t dropped = 0;  ///< events after the first ProfilerOptions::trace_events
  };
  Events events() const;

 private:
  friend class Session;
  std::shared_ptr<ProfilerImpl> impl_;
};

}  // namespace frazil::api
