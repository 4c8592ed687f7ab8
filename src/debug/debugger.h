#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "debug/breakpoint.h"
#include "debug/replacement.h"
#include "debug/sites.h"
#include "exec/run/session.h"

namespace frazil::debug {

/// The point to which a run continues.
enum class Until : std::uint8_t {
  next_value,  ///< to the next node, at any depth
  step_over,   ///< to the next node outside of the bodies that follow: steps over If, Loop and functions
  step_into,   ///< into the next If, Loop or function; at most to the end of the enclosing one
  step_out,    ///< out of the enclosing one
  breakpoint,  ///< to the next breakpoint, or to the end
};

/// The reason why a run has stopped.
struct Stop {
  enum class Why : std::uint8_t { step, breakpoint, ended, failed };
  Why why = Why::ended;
  std::size_t site = 0;                  ///< step, breakpoint: the value that was just made
  std::vector<std::int64_t> iterations;  ///< of the enclosing loops, outermost first; see exec::Observer::value
  std::uint32_t breakpoint = 0;          ///< number of the breakpoint
  Fault fault{};                         ///< failed: the error of the run
};

/// The functions that prepare graphs and open sessions to run them.
struct Backend {
  std::function<Result<std::shared_ptr<exec::Executable>>(std::shared_ptr<const Graph>)> make;
  std::function<std::unique_ptr<exec::Session>(exec::Executable&)> open;  ///< for each run, so that all are alike
};

/// A debugger: runs a graph as a session runs it, with fused kernels, and stops it where values are made. A run stops
/// after the last output of a node that it makes. Not thread-safe, except cancel(). The run has its own thread.
class Debugger {
 public:
  /// Returns the faults of Backend::make.
  static Result<std::unique_ptr<Debugger>> make(std::shared_ptr<const Graph> graph, Backend ways);
  ~Debugger();
  Debugger(const Debugger&) = delete;
  Debugger& operator=(const Debugger&) = delete;

  const Sites& sites() const { return sites_; }
  /// Begins a run. Ends one that was stopped. Values that were set stay set.
  Stop run(std::vector<Datum> inputs, Until until);
  /// Continues the run. Precondition: in_run().
  Stop go(Until until);
  /// Returns true if a run has begun and not ended.
  bool in_run() const { return run_ != nullptr; }
  /// Ends the run that go() waits for, soon, with Code::cancelled. Callable from any thread.
  void cancel() noexcept;

  /// Adds a breakpoint; see parse_breakpoint(). If passes remove a value that it names, later runs keep the value by a
  /// node that forwards it.
  Result<std::uint32_t> add_breakpoint(std::string_view text);
  /// Returns false if there is none with this number.
  bool remove_breakpoint(std::uint32_t number);
  const std::vector<Breakpoint>& breakpoints() const { return breakpoints_; }

  /// Returns the value as the run last made it or as it was set, also after the run. Also returns constants and inputs.
  /// If a pass has removed the value, the reference executor computes it up to the point that the run has reached.
  /// Returns Code::bad_input for a value that has not been made.
  Result<Datum> value(std::string_view name);
  /// Returns why nothing in the run makes the value. Empty if the run makes it once it gets there.
  const std::string& why_missing(std::size_t site) const { return missing_[site]; }
  /// Replaces the last value that the run made under this name, or an input. The run begins again with the same inputs
  /// and stops where this value is made, so that all later values are computed again. Returns Code::bad_input if the
  /// type differs from that of the old value, and for a value that has not been made.
  Result<Stop> set(std::string_view name, Datum value);
  /// Returns the results of a run that has ended.
  const std::vector<Datum>& results() const { return results_; }

 private:
  class Run;

  Debugger(std::shared_ptr<const Graph> graph, Backend ways);
  Status rebuild();
  void leave_run();
  Stop begin(Until until, std::optional<std::pair<std::size_t, std::uint64_t>> target = {});
  Status keep_missing();
  bool is_kept(std::size_t site) const;
  Replacement& replacement(std::size_t site);
  Result<Datum> by_reference(std::size_t site);

  std::shared_ptr<const Graph> graph_;
  const Backend ways_;
  const Sites sites_;
  std::shared_ptr<const Graph> running_;          // graph_ with the values that were set
  std::shared_ptr<exec::Executable> executable_;  // made from running_
  std::unique_ptr<Run> run_;
  std::atomic<Run*> reachable_{nullptr};  // for cancel(), which takes no lock because a signal handler may call it
  std::atomic<int> cancelling_{0};        // calls of cancel() that may use reachable_
  std::vector<Datum> inputs_, results_;
  std::vector<Breakpoint> breakpoints_;
  std::uint32_t next_number_ = 1;
  std::vector<std::string> missing_;  // per site
  std::vector<std::size_t> wanted_;   // values that breakpoints name and that passes removed
  struct Made {
    std::uint64_t count = 0;
    Datum last{};
    std::vector<std::int64_t> iterations;
  };
  std::vector<Made> made_;  // per site
  Stop stop_;               // the last one
  std::vector<std::pair<std::size_t, std::shared_ptr<Replacement>>> replaced_;
};

}  // namespace frazil::debug
