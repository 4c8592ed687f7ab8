#include "profile/recorder.h"

#include <algorithm>

#include <unistd.h>

namespace frazil::profile {

void Recorder::end_pass() {
  constexpr auto faster = [](const PassTotals& a, const PassTotals& b) { return a.ticks < b.ticks; };
  PassTotals pass = current();
  for (const auto& plan : plans_) {
    std::ranges::fill(plan->steps, StepTotals{});
    std::ranges::fill(plan->flows, FlowTotals{});
  }
  ++pass_count_;
  run_ticks_ = event_count_ = 0;
  kept_.push_back(std::move(pass));
  std::ranges::push_heap(kept_, faster);
  if (kept_.size() <= kMaxKept) return;
  std::ranges::pop_heap(kept_, faster);
  kept_.pop_back();
}

PassTotals Recorder::current() const {
  PassTotals pass{.ticks = run_ticks_, .events = event_count_, .steps = {}, .flows = {}};
  for (const auto& plan : plans_) {
    pass.steps.push_back(plan->steps);
    pass.flows.push_back(plan->flows);
  }
  return pass;
}

std::vector<const PassTotals*> Recorder::fastest() const {
  std::vector<const PassTotals*> passes;
  for (const PassTotals& pass : kept_) passes.push_back(&pass);
  std::ranges::sort(passes, {}, [](const PassTotals* p) { return p->ticks; });
  passes.resize(std::min(passes.size(), (pass_count_ + 1) / 2));
  return passes;
}

void Recorder::reset() {
  end_pass();
  kept_.clear();
  log_.clear();
  pass_count_ = runs_ = shape_changes_ = 0;
}

std::uint32_t Recorder::pc_of(const Step& step) const {
  return static_cast<std::uint32_t>(&step - now_->plan.steps.data());
}

std::uint32_t Recorder::arrive(const Step& step) {
  const std::uint32_t pc = pc_of(step);
  spans_.arrive(pc);
  ++event_count_;
  return pc;
}

void Recorder::run_begin(const Plan& plan, std::span<const std::int64_t> registers) {
  const auto [at, fresh] = index_of_.try_emplace(&plan, static_cast<std::uint32_t>(plans_.size()));
  if (fresh) plans_.push_back(std::make_unique<PlanProfile>(plan));
  plan_ = at->second;
  now_ = plans_[plan_].get();
  registers_ = registers;
  thread_ = gettid();
  run_begin_ = ticks();
  spans_.begin_run(*now_, plan_, run_begin_);
  run_event_ = log_.add({.kind = TraceEvent::Kind::run, .plan = plan_, .number = runs_, .begin = run_begin_});
}

void Recorder::run_end() {
  const std::uint64_t now = ticks();
  spans_.end_run();
  run_ticks_ += now - run_begin_;
  ++runs_;
  if (TraceEvent* const event = log_.find(run_event_)) event->end = now;
}

void Recorder::step_begin(const Step& step, NodeId) {
  const std::uint32_t pc = arrive(step);
  step_event_ = log_.add({.kind = TraceEvent::Kind::step, .plan = plan_, .where = pc});
  step_begin_ = ticks();
}

/// Extents that the kernel determines are unknown before it has run, so this is called after the step.
const Cost& Recorder::cost_of(std::uint32_t pc) {
  const Kernel kernel = now_->plan.steps[pc].as<step::Launch>()->kernel();
  const bool varies = kernel == Kernel::opaque || kernel == Kernel::reference;
  if (varies || !now_->cost_known[pc]) {
    now_->cost[pc] = now_->costs.of(pc, registers_);
    now_->cost_known[pc] = 1;
  }
  return now_->cost[pc];
}

void Recorder::step_end(const Step& step, NodeId) {
  const std::uint64_t now = ticks();
  const std::uint32_t pc = pc_of(step);
  const std::uint64_t took = now - step_begin_;
  StepTotals& totals = now_->steps[pc];
  ++totals.calls;
  totals.ticks += took;
  const Cost& cost = cost_of(pc);
  totals.flops += cost.flops;
  totals.read += cost.read;
  totals.written += cost.written;
  totals.flops_known = cost.flops_known;
  if (TraceEvent* const event = log_.find(step_event_)) {
    event->begin = step_begin_;
    event->end = now;
  }
  spans_.add_step(took, now);
}

void Recorder::branch(const Step& step, NodeId, bool taken) {
  const std::uint32_t pc = arrive(step);
  spans_.pass_time(ticks());
  spans_.add_branch(pc, taken);
}

void Recorder::iteration(const Step& step, NodeId) {
  arrive(step);
  spans_.pass_time(ticks());
  spans_.end_iteration();
}

void Recorder::count_reached(const Step& step, NodeId) {
  arrive(step);
  spans_.pass_time(ticks());
}

void Recorder::shapes_changed(std::uint32_t group) {
  ++shape_changes_;
  for (const std::uint32_t pc : now_->plan.groups[group].dependents) now_->cost_known[pc] = 0;
}

}  // namespace frazil::profile
