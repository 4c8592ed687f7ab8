#include "profile/plan_profile.h"

#include <algorithm>

namespace frazil::profile {
namespace {

/// Returns true if a branch leaves a loop: it belongs to the loop's node and targets the step after its end.
bool leaves_loop(const std::vector<FlowSpan>& loops, StepIndex pc, NodeId node, const step::Branch& branch) {
  return std::ranges::any_of(loops, [&](const FlowSpan& l) {
    return l.node == node && l.first <= pc && pc <= l.last && branch.target == l.last + 1;
  });
}

/// Returns the last step of the If whose branch is `pc`.
StepIndex end_of_branch(const Plan& plan, StepIndex pc) {
  const StepIndex target = plan.steps[pc].as<step::Branch>()->target;
  const Step& before = plan.steps[target - 1];
  const auto* jump = before.as<step::Jump>();
  const bool has_other = jump != nullptr && before.node == plan.steps[pc].node && jump->target >= target;
  return (has_other ? jump->target : target) - 1;
}

std::vector<FlowSpan> spans_of(const Plan& plan) {
  std::vector<FlowSpan> spans;
  const auto count = static_cast<std::uint32_t>(plan.steps.size());
  for (std::uint32_t pc = 0; pc < count; ++pc) {
    const Step& step = plan.steps[pc];
    if (const auto* again = step.as<step::BackEdge>()) spans.push_back({step.node, true, again->target, pc});
  }
  const std::vector<FlowSpan> loops = spans;
  for (std::uint32_t pc = 0; pc < count; ++pc) {
    const Step& step = plan.steps[pc];
    const auto* branch = step.as<step::Branch>();
    if (branch == nullptr || leaves_loop(loops, pc, step.node, *branch)) continue;
    spans.push_back({step.node, false, pc, end_of_branch(plan, pc)});
  }
  std::ranges::sort(spans, [](const FlowSpan& a, const FlowSpan& b) {
    return a.first != b.first ? a.first < b.first : a.last > b.last;
  });
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < spans.size(); ++i) {
    while (!open.empty() && spans[open.back()].last < spans[i].first) open.pop_back();
    if (!open.empty()) spans[i].parent = open.back();
    open.push_back(i);
  }
  return spans;
}

}  // namespace

void FlowTotals::add(const FlowTotals& more) {
  entries += more.entries, iterations += more.iterations;
  yes += more.yes, no += more.no;
  ticks += more.ticks, inner += more.inner;
  own_events += more.own_events;
}

PlanProfile::PlanProfile(const Plan& of)
    : plan(of),
      costs(of),
      steps(of.steps.size()),
      spans(spans_of(of)),
      innermost(of.steps.size(), kNone),
      flows(spans.size()),
      cost(of.steps.size()),
      cost_known(of.steps.size()) {
  for (std::uint32_t i = 0; i < spans.size(); ++i) {
    std::fill(innermost.begin() + spans[i].first, innermost.begin() + spans[i].last + 1, i);
  }
}

std::size_t TraceLog::add(const TraceEvent& event) {
  if (events_.size() == capacity_) {
    ++dropped_;
    return kNoEvent;
  }
  events_.push_back(event);
  return events_.size() - 1;
}

void TraceLog::clear() {
  events_.clear();
  dropped_ = 0;
}

}  // namespace frazil::profile
