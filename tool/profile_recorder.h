#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "exec/observe/observer.h"
#include "plan/analyse/cost.h"

namespace frazil::tool {

/// Returns ticks of a steady clock: the processor's counter if it has one, else nanoseconds.
std::uint64_t ticks();

/// Totals over all calls of one step.
struct StepTotals {
  std::uint64_t calls = 0, ticks = 0;
  double flops = 0, read = 0, written = 0;
  bool flops_known = true;
};

/// An If or a Loop of the plan, which covers the steps [first, last].
struct FlowSpan {
  NodeId node;
  bool loop = false;
  std::uint32_t first = 0, last = 0;
  std::uint32_t parent = kNone;
};
struct FlowTotals {
  std::uint64_t entries = 0, iterations = 0;
  std::uint64_t yes = 0, no = 0;  ///< If: count per branch; Loop: count per condition value
  std::uint64_t ticks = 0;
  std::uint64_t inner = 0;       ///< ticks in the steps and spans inside
  std::uint64_t own_events = 0;  ///< events received meanwhile, excluding those of spans inside
  void add(const FlowTotals& more);
};

/// The recording of one plan. A session has several plans when guards miss.
struct PlanProfile {
  explicit PlanProfile(const Plan& of);
  const Plan& plan;
  Costs costs;
  std::vector<StepTotals> steps;
  std::vector<FlowSpan> spans;           ///< outer spans first
  std::vector<std::uint32_t> innermost;  ///< per step: its innermost span, or kNone
  std::vector<FlowTotals> flows;         ///< per span
  std::vector<Cost> cost;                ///< per step, for the latest extents
  std::vector<std::uint8_t> cost_known;
};

struct TraceEvent {
  enum class Kind : std::uint8_t { dropped, run, step, loop, iteration, branch, condition };
  Kind kind = Kind::dropped;
  bool side = false;
  std::uint32_t plan = 0, where = 0;  ///< step or span
  std::uint64_t number = 0;           ///< iteration or run
  std::uint64_t begin = 0, end = 0;   ///< ticks
};

/// The totals of one pass over all requests, by plan.
struct PassTotals {
  std::uint64_t ticks = 0;  ///< total time of the requests
  std::uint64_t told = 0;   ///< number of events received
  std::vector<std::vector<StepTotals>> steps;
  std::vector<std::vector<FlowTotals>> flows;
};

/// Accumulates the events of a session, and stores individual events up to a limit.
class Recorder : public exec::Observer {
 public:
  /// `capacity`: number of stored trace events; 0 stores none.
  explicit Recorder(std::size_t capacity);

  /// Ends a pass and stores its totals.
  void end_pass();
  /// Discards the totals; data about plans are kept.
  void reset();
  /// Returns the fastest half of the passes, at most kMostKept, as these were disturbed least.
  std::vector<const PassTotals*> fastest() const;

  void run_begin(const Plan& plan, std::span<const std::int64_t> registers) override;
  void run_end() override;
  void step_begin(const Step& step, NodeId) override;
  void step_end(const Step& step, NodeId) override;
  void branch(const Step& step, NodeId, bool taken) override;
  void iteration(const Step& step, NodeId) override;
  void count_reached(const Step& step, NodeId) override;
  void shapes_changed(std::uint32_t group) override;

  const std::vector<std::unique_ptr<PlanProfile>>& plans() const { return plans_; }
  const std::vector<TraceEvent>& events() const { return events_; }
  std::uint64_t dropped() const { return dropped_; }
  std::uint64_t requests() const { return runs_; }
  std::uint64_t passes() const { return pass_count_; }
  std::uint64_t shape_changes() const { return shape_changes_; }
  /// Returns the cost of reading the clock, which each step includes.
  std::uint64_t clock_ticks() const { return clock_ticks_; }
  double ns_per_tick() const;
  /// Returns the time in the steps, excluding clock reads.
  double ns_of(const StepTotals& totals, double ns_per_tick) const;
  std::uint64_t start() const { return start_ticks_; }
  long thread() const { return thread_; }

 private:
  struct Open {
    std::uint32_t span;
    std::uint64_t begin, inner = 0;
    std::uint64_t iterations = 0;
    std::uint64_t own_events = 0;
    std::size_t event, iteration_event;
  };
  static constexpr std::size_t kMostKept = 32;
  static constexpr std::size_t kNoEvent = ~std::size_t{0};

  std::uint32_t pc_of(const Step& step) const;
  void enter(std::uint32_t pc);
  void open(std::uint32_t span);
  void close();
  std::size_t keep(TraceEvent event);
  void count_event();

  std::size_t capacity_;
  std::vector<std::unique_ptr<PlanProfile>> plans_;
  std::map<const Plan*, std::uint32_t> index_of_;
  PlanProfile* now_ = nullptr;
  std::uint32_t plan_ = 0;
  std::span<const std::int64_t> registers_;
  std::vector<Open> open_;
  std::vector<PassTotals> kept_;  ///< the fastest passes, as a heap with the slowest first
  std::uint64_t pass_count_ = 0;
  std::vector<TraceEvent> events_;
  std::uint64_t dropped_ = 0, runs_ = 0, run_ticks_ = 0, shape_changes_ = 0, told_ = 0, clock_ticks_;
  std::uint64_t run_begin_ = 0, step_begin_ = 0, last_ = 0;
  std::size_t run_event_ = kNoEvent, step_event_ = kNoEvent;
  std::uint64_t start_ticks_;
  std::chrono::steady_clock::time_point start_time_;
  long thread_ = 0;
};

}  // namespace frazil::tool
