#pragma once

#include <cstdint>
#include <vector>

#include "plan/analyse/cost.h"

namespace frazil::profile {

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

/// The stored events of a session, at most a given number.
class TraceLog {
 public:
  static constexpr std::size_t kNoEvent = ~std::size_t{0};

  explicit TraceLog(std::size_t capacity) : capacity_(capacity) { events_.reserve(capacity); }

  /// Stores an event and returns its index. Returns kNoEvent and counts it as dropped if the log is full.
  std::size_t add(const TraceEvent& event);
  /// Returns the event with an index that add() returned; null for kNoEvent. Valid until the next call of add().
  TraceEvent* find(std::size_t index) { return index == kNoEvent ? nullptr : &events_[index]; }
  void clear();
  const std::vector<TraceEvent>& events() const { return events_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  std::size_t capacity_;
  std::vector<TraceEvent> events_;
  std::uint64_t dropped_ = 0;
};

}  // namespace frazil::profile
