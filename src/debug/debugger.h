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

/// How far a run goes on.
enum class Until : std::uint8_t {
  next_value,  ///< to the next node, wherever it is
  beside,      ///< to the next node that is not inside of what follows: over If, Loop, functions
  inside,      ///< into the next If, Loop or function; no further than to the end of the one around
  outside,     ///< out of the one around
  breakpoint,  ///< to the next breakpoint, or to the end
};

/// Why a run has stopped.
struct Stop {
  enum class Why : std::uint8_t { step, breakpoint, ended, failed };
  Why why = Why::ended;
  std::size_t site = 0;                  ///< step, breakpoint: what has just been made
  std::vector<std::int64_t> iterations;  ///< of the loops around, outermost first; see exec::Observer::value
  std::uint32_t breakpoint = 0;          ///< its number
  Fault fault{};                         ///< of a run that failed
};

/// How graphs are run.
struct Ways {
  std::function<Result<std::shared_ptr<exec::Executable>>(std::shared_ptr<const Graph>)> make;
  std::function<std::unique_ptr<exec::Session>(exec::Executable&)> open;  ///< for each run, so that all are alike
};

/// Runs a graph as a session runs it, fused kernels and all, and stops it where values are made. A run stops behind the
/// last of a node's outputs that it makes. Not thread-safe, except cancel(); the run itself has a thread of its own.
class Debugger {
 public:
  /// Faults as Ways::make gives them.
  static Result<std::unique_ptr<Debugger>> make(std::shared_ptr<const Graph> graph, Ways ways);
  ~Debugger();
  Debugger(const Debugger&) = delete;
  Debugger& operator=(const Debugger&) = delete;

  const Sites& sites() const { return sites_; }
  /// Begins a run, and leaves one that was stopped. What was set stays set in it.
  Stop run(std::vector<Datum> inputs, Until until);
  /// Goes on. Precondition: in_run().
  Stop go(Until until);
  /// A run has begun and not ended.
  bool in_run() const { return run_ != nullptr; }
  /// Ends a run that go() waits for, soon, with Code::cancelled; from any thread.
  void cancel() noexcept;

  /// See parse_breakpoint. A value that passes remove is kept from the next run on, behind a node that hands it on.
  Result<std::uint32_t> add_breakpoint(std::string_view text);
  /// False: there is none of this number.
  bool remove_breakpoint(std::uint32_t number);
  const std::vector<Breakpoint>& breakpoints() const { return breakpoints_; }

  /// The value as the run last made it, or as it was set; also after the run. A constant's. Code::bad_input for one
  /// that has not been made; where a pass has removed it, the reference executor computes it as far as the run has
  /// come.
  Result<Datum> value(std::string_view name);
  /// Why nothing in the run makes it; empty: it is made, if the run comes to it.
  const std::string& why_missing(std::size_t site) const { return missing_[site]; }
  /// Puts `value` in the place of the last one that the run made under this name, and of an input. The run begins anew
  /// with the same inputs, and stops where this value is made: what was computed with the old one is computed again.
  /// Code::bad_input for another type than that of the old value, and for one that has not been made.
  Result<Stop> set(std::string_view name, Datum value);
  /// Of a run that has ended.
  const std::vector<Datum>& results() const { return results_; }

 private:
  class Run;

  Debugger(std::shared_ptr<const Graph> graph, Ways ways);
  Status rebuild();
  void leave_run();
  Stop begin(Until until, std::optional<std::pair<std::size_t, std::uint64_t>> target = {});
  Status keep_missing();
  bool is_kept(std::size_t site) const;
  Replacement& replacement(std::size_t site);
  Result<Datum> by_reference(std::size_t site);

  std::shared_ptr<const Graph> graph_;
  const Ways ways_;
  const Sites sites_;
  std::shared_ptr<const Graph> running_;          // with what was set
  std::shared_ptr<exec::Executable> executable_;  // of running_
  std::unique_ptr<Run> run_;
  std::atomic<Run*> reachable_{nullptr};  // for cancel(), which takes no lock: a signal handler may call it
  std::atomic<int> cancelling_{0};        // calls of cancel() that may use it
  std::vector<Datum> inputs_, results_;
  std::vector<Breakpoint> breakpoints_;
  std::uint32_t next_number_ = 1;
  std::vector<std::string> missing_;  // per site
  std::vector<std::size_t> wanted_;   // that breakpoints name, and that passes removed
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
