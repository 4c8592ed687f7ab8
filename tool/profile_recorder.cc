#include "tool/profile_recorder.h"

#include <algorithm>

#include <unistd.h>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

namespace frazil::tool {

std::uint64_t ticks() {
#ifdef __x86_64__
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

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
    if (const auto* again = step.as<step::Again>()) spans.push_back({step.node, true, again->target, pc});
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

namespace {

/// Returns the median time between two clock reads.
std::uint64_t cost_of_clock() {
  constexpr int kLooks = 256;
  std::vector<std::uint64_t> between;
  for (int i = 0; i < kLooks; ++i) {
    const std::uint64_t begin = ticks();
    between.push_back(ticks() - begin);
  }
  std::ranges::nth_element(between, between.begin() + kLooks / 2);
  return between[kLooks / 2];
}

}  // namespace

Recorder::Recorder(std::size_t capacity)
    : capacity_(capacity),
      clock_ticks_(cost_of_clock()),
      start_ticks_(ticks()),
      start_time_(std::chrono::steady_clock::now()) {
  events_.reserve(capacity);
}

void Recorder::end_pass() {
  constexpr auto faster = [](const PassTotals& a, const PassTotals& b) { return a.ticks < b.ticks; };
  PassTotals pass{.ticks = run_ticks_, .told = told_, .steps = {}, .flows = {}};
  for (const auto& plan : plans_) {
    pass.steps.push_back(plan->steps);
    pass.flows.push_back(plan->flows);
    std::ranges::fill(plan->steps, StepTotals{});
    std::ranges::fill(plan->flows, FlowTotals{});
  }
  ++pass_count_;
  run_ticks_ = told_ = 0;
  kept_.push_back(std::move(pass));
  std::ranges::push_heap(kept_, faster);
  if (kept_.size() <= kMostKept) return;
  std::ranges::pop_heap(kept_, faster);
  kept_.pop_back();
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
  events_.clear();
  pass_count_ = dropped_ = runs_ = shape_changes_ = 0;
}

double Recorder::ns_of(const StepTotals& totals, double ns_per_tick) const {
  const std::uint64_t clock = totals.calls * clock_ticks_;
  return static_cast<double>(totals.ticks - std::min(totals.ticks, clock)) * ns_per_tick;
}

double Recorder::ns_per_tick() const {
  const auto ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start_time_).count();
  return ns / static_cast<double>(ticks() - start_ticks_);
}

std::size_t Recorder::keep(TraceEvent event) {
  if (events_.size() == capacity_) {
    ++dropped_;
    return kNoEvent;
  }
  event.plan = plan_;
  events_.push_back(event);
  return events_.size() - 1;
}

void Recorder::count_event() {
  ++told_;
  if (open_.empty()) return;
  ++open_.back().own_events;
}

std::uint32_t Recorder::pc_of(const Step& step) const {
  return static_cast<std::uint32_t>(&step - now_->plan.steps.data());
}

void Recorder::run_begin(const Plan& plan, std::span<const std::int64_t> registers) {
  const auto [at, fresh] = index_of_.try_emplace(&plan, static_cast<std::uint32_t>(plans_.size()));
  if (fresh) plans_.push_back(std::make_unique<PlanProfile>(plan));
  open_.clear();
  plan_ = at->second;
  now_ = plans_[plan_].get();
  registers_ = registers;
  thread_ = gettid();
  run_begin_ = last_ = ticks();
  run_event_ = keep({.kind = TraceEvent::Kind::run, .number = runs_, .begin = run_begin_});
}

void Recorder::run_end() {
  const std::uint64_t now = ticks();
  while (!open_.empty()) close();
  run_ticks_ += now - run_begin_;
  ++runs_;
  if (run_event_ != kNoEvent) events_[run_event_].end = now;
}

/// Closes the spans that end before `pc` and opens those that contain it. Both happened at the end of the previous
/// event.
void Recorder::enter(std::uint32_t pc) {
  const std::uint32_t wanted = now_->innermost[pc];
  if (open_.empty() ? wanted == kNone : wanted == open_.back().span) return;
  while (!open_.empty()) {
    const FlowSpan& span = now_->spans[open_.back().span];
    if (span.first <= pc && pc <= span.last) break;
    close();
  }
  const std::uint32_t top = open_.empty() ? kNone : open_.back().span;
  const std::size_t depth = open_.size();
  for (std::uint32_t s = wanted; s != top && s != kNone; s = now_->spans[s].parent) {
    open_.insert(open_.begin() + static_cast<std::ptrdiff_t>(depth),
                 Open{.span = s, .begin = last_, .event = kNoEvent, .iteration_event = kNoEvent});
  }
  for (std::size_t i = depth; i < open_.size(); ++i) {
    const FlowSpan& span = now_->spans[open_[i].span];
    ++now_->flows[open_[i].span].entries;
    const auto kind = span.loop ? TraceEvent::Kind::loop : TraceEvent::Kind::branch;
    open_[i].event = keep({.kind = kind, .where = open_[i].span, .begin = last_});
    if (!span.loop) continue;
    open_[i].iteration_event =
        keep({.kind = TraceEvent::Kind::iteration, .where = open_[i].span, .number = 0, .begin = last_});
  }
}

void Recorder::close() {
  const Open closed = open_.back();
  open_.pop_back();
  const std::uint64_t took = last_ - closed.begin;
  FlowTotals& totals = now_->flows[closed.span];
  totals.ticks += took;
  totals.inner += closed.inner;
  totals.own_events += closed.own_events;
  if (!open_.empty()) open_.back().inner += took;
  if (closed.event != kNoEvent) {
    events_[closed.event].end = last_;
    events_[closed.event].number = closed.iterations;
  }
  // The loop was left before this iteration ended.
  if (closed.iteration_event != kNoEvent) events_[closed.iteration_event].kind = TraceEvent::Kind::dropped;
}

void Recorder::step_begin(const Step& step, NodeId) {
  const std::uint32_t pc = pc_of(step);
  enter(pc);
  count_event();
  step_event_ = keep({.kind = TraceEvent::Kind::step, .where = pc});
  step_begin_ = ticks();
}

void Recorder::step_end(const Step& step, NodeId) {
  const std::uint64_t now = ticks();
  const std::uint32_t pc = pc_of(step);
  const std::uint64_t took = now - step_begin_;
  StepTotals& totals = now_->steps[pc];
  ++totals.calls;
  totals.ticks += took;
  // Extents that the kernel determines are unknown before it has run.
  const Kernel kernel = step.as<step::Launch>()->kernel();
  const bool varies = kernel == Kernel::opaque || kernel == Kernel::reference;
  if (varies || !now_->cost_known[pc]) {
    now_->cost[pc] = now_->costs.of(pc, registers_);
    now_->cost_known[pc] = 1;
  }
  const Cost& cost = now_->cost[pc];
  totals.flops += cost.flops;
  totals.read += cost.read;
  totals.written += cost.written;
  totals.flops_known = cost.flops_known;
  if (!open_.empty()) open_.back().inner += took;
  if (step_event_ != kNoEvent) {
    events_[step_event_].begin = step_begin_;
    events_[step_event_].end = now;
  }
  last_ = now;
}

void Recorder::branch(const Step& step, NodeId, bool taken) {
  const std::uint32_t pc = pc_of(step);
  enter(pc);
  count_event();
  last_ = ticks();
  const std::uint32_t span = now_->innermost[pc];
  if (span == kNone) return;
  ++(taken ? now_->flows[span].yes : now_->flows[span].no);
  if (now_->spans[span].loop) {
    keep({.kind = TraceEvent::Kind::condition, .side = taken, .where = span, .begin = last_, .end = last_});
  } else if (open_.back().event != kNoEvent) {
    events_[open_.back().event].side = taken;
  }
}

void Recorder::iteration(const Step& step, NodeId) {
  const std::uint32_t pc = pc_of(step);
  enter(pc);
  count_event();
  last_ = ticks();
  Open& loop = open_.back();
  ++now_->flows[loop.span].iterations;
  if (loop.iteration_event != kNoEvent) events_[loop.iteration_event].end = last_;
  ++loop.iterations;
  loop.iteration_event =
      keep({.kind = TraceEvent::Kind::iteration, .where = loop.span, .number = loop.iterations, .begin = last_});
}

void Recorder::count_reached(const Step& step, NodeId) {
  enter(pc_of(step));
  count_event();
  last_ = ticks();
}

void Recorder::shapes_changed(std::uint32_t group) {
  ++shape_changes_;
  for (const std::uint32_t pc : now_->plan.groups[group].dependents) now_->cost_known[pc] = 0;
}

}  // namespace frazil::tool
