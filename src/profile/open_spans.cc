#include "profile/open_spans.h"

namespace frazil::profile {

void OpenSpans::begin_run(PlanProfile& profile, std::uint32_t plan, std::uint64_t now) {
  open_.clear();
  now_ = &profile;
  plan_ = plan;
  last_ = now;
}

void OpenSpans::end_run() {
  while (!open_.empty()) close();
}

void OpenSpans::arrive(std::uint32_t pc) {
  enter(pc);
  if (!open_.empty()) ++open_.back().own_events;
}

void OpenSpans::add_step(std::uint64_t took, std::uint64_t now) {
  if (!open_.empty()) open_.back().inner += took;
  last_ = now;
}

void OpenSpans::add_branch(std::uint32_t pc, bool taken) {
  const std::uint32_t span = now_->innermost[pc];
  if (span == kNone) return;
  ++(taken ? now_->flows[span].yes : now_->flows[span].no);
  if (now_->spans[span].loop) {
    add_event({.kind = TraceEvent::Kind::condition, .side = taken, .where = span, .begin = last_, .end = last_});
  } else if (TraceEvent* const event = log_.find(open_.back().event)) {
    event->side = taken;
  }
}

void OpenSpans::end_iteration() {
  Open& loop = open_.back();
  ++now_->flows[loop.span].iterations;
  if (TraceEvent* const event = log_.find(loop.iteration_event)) event->end = last_;
  ++loop.iterations;
  loop.iteration_event =
      add_event({.kind = TraceEvent::Kind::iteration, .where = loop.span, .number = loop.iterations, .begin = last_});
}

void OpenSpans::enter(std::uint32_t pc) {
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
                 Open{.span = s, .begin = last_, .event = TraceLog::kNoEvent, .iteration_event = TraceLog::kNoEvent});
  }
  for (std::size_t i = depth; i < open_.size(); ++i) {
    const FlowSpan& span = now_->spans[open_[i].span];
    ++now_->flows[open_[i].span].entries;
    const auto kind = span.loop ? TraceEvent::Kind::loop : TraceEvent::Kind::branch;
    open_[i].event = add_event({.kind = kind, .where = open_[i].span, .begin = last_});
    if (!span.loop) continue;
    open_[i].iteration_event =
        add_event({.kind = TraceEvent::Kind::iteration, .where = open_[i].span, .number = 0, .begin = last_});
  }
}

void OpenSpans::close() {
  const Open closed = open_.back();
  open_.pop_back();
  const std::uint64_t took = last_ - closed.begin;
  FlowTotals& totals = now_->flows[closed.span];
  totals.ticks += took;
  totals.inner += closed.inner;
  totals.own_events += closed.own_events;
  if (!open_.empty()) open_.back().inner += took;
  if (TraceEvent* const event = log_.find(closed.event)) {
    event->end = last_;
    event->number = closed.iterations;
  }
  // The loop was left before this iteration ended.
  if (TraceEvent* const event = log_.find(closed.iteration_event)) event->kind = TraceEvent::Kind::dropped;
}

std::size_t OpenSpans::add_event(TraceEvent event) {
  event.plan = plan_;
  return log_.add(event);
}

}  // namespace frazil::profile
