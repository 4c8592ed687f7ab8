#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "exec/observe/observer.h"
#include "profile/open_spans.h"
#include "profile/plan_profile.h"
#include "profile/tick_clock.h"

namespace frazil::profile {

/// The totals of one pass over all requests, by plan.
struct PassTotals {
  std::uint64_t ticks = 0;   ///< total time of the requests
  std::uint64_t events = 0;  ///< number of events received
  std::vector<std::vector<StepTotals>> steps;
  std::vector<std::vector<FlowTotals>> flows;
};

/// Accumulates the events of a session, and stores individual events up to a limit.
class Recorder : public exec::Observer {
 public:
  /// `capacity`: number of stored trace events; 0 stores none.
  explicit Recorder(std::size_t capacity) : log_(capacity), spans_(log_) {}

  /// Ends a pass and stores its totals.
  void end_pass();
  /// Discards the totals; data about plans are kept.
  void reset();
  /// Returns the fastest half of the passes, at most kMaxKept, as these were disturbed least.
  std::vector<const PassTotals*> fastest() const;
  /// Returns the totals of the pass that has not ended.
  PassTotals current() const;

  void run_begin(const Plan& plan, std::span<const std::int64_t> registers) override;
  void run_end() override;
  void step_begin(const Step& step, NodeId) override;
  void step_end(const Step& step, NodeId) override;
  void branch(const Step& step, NodeId, bool taken) override;
  void iteration(const Step& step, NodeId) override;
  void count_reached(const Step& step, NodeId) override;
  void shapes_changed(std::uint32_t group) override;

  const std::vector<std::unique_ptr<PlanProfile>>& plans() const { return plans_; }
  const TraceLog& log() const { return log_; }
  const TickClock& clock() const { return clock_; }
  std::uint64_t requests() const { return runs_; }
  std::uint64_t passes() const { return pass_count_; }
  std::uint64_t shape_changes() const { return shape_changes_; }
  /// Returns the thread of the latest run.
  long thread() const { return thread_; }

 private:
  static constexpr std::size_t kMaxKept = 32;

  std::uint32_t arrive(const Step& step);
  std::uint32_t pc_of(const Step& step) const;
  const Cost& cost_of(std::uint32_t pc);

  TickClock clock_;
  TraceLog log_;
  OpenSpans spans_;
  std::vector<std::unique_ptr<PlanProfile>> plans_;
  std::map<const Plan*, std::uint32_t> index_of_;
  PlanProfile* now_ = nullptr;
  std::uint32_t plan_ = 0;
  std::span<const std::int64_t> registers_;
  std::vector<PassTotals> kept_;  ///< the fastest passes, as a heap with the slowest first
  std::uint64_t pass_count_ = 0;
  std::uint64_t runs_ = 0, run_ticks_ = 0, shape_changes_ = 0, event_count_ = 0;
  std::uint64_t run_begin_ = 0, step_begin_ = 0;
  std::size_t run_event_ = TraceLog::kNoEvent, step_event_ = TraceLog::kNoEvent;
  long thread_ = 0;
};

}  // namespace frazil::profile
