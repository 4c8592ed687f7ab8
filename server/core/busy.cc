#include "server/core/busy.h"

#include <utility>

namespace frazil::server {
namespace {

thread_local BusyScope* innermost_scope = nullptr;
thread_local Clock::time_point charged_until;  // the time of `innermost_scope` that is not in its `elapsed_` yet

Nanoseconds time_since_last() {
  const auto now = Clock::now();
  return now - std::exchange(charged_until, now);
}

}  // namespace

BusyScope::BusyScope(std::shared_ptr<BusySink> sink) : sink_(std::move(sink)) {
  if (sink_ == nullptr) return;
  const Nanoseconds time = time_since_last();
  if (innermost_scope != nullptr) innermost_scope->elapsed_ += time;
  outer_ = std::exchange(innermost_scope, this);
}

BusyScope::~BusyScope() {
  if (sink_ == nullptr) return;
  elapsed_ += time_since_last();
  innermost_scope = outer_;
  charge();
}

void BusyScope::charge() {
  if (elapsed_.count() > 0) sink_->add_busy(std::exchange(elapsed_, Nanoseconds(0)));
}

void BusyScope::charge_all() {
  if (innermost_scope == nullptr) return;
  innermost_scope->elapsed_ += time_since_last();
  for (BusyScope* scope = innermost_scope; scope != nullptr; scope = scope->outer_) scope->charge();
}

void BusyScope::replace(const BusySink& from, const std::shared_ptr<BusySink>& to) {
  for (BusyScope* scope = innermost_scope; scope != nullptr; scope = scope->outer_) {
    if (scope->sink_.get() != &from) continue;
    scope->charge();
    scope->sink_ = to;
  }
}

}  // namespace frazil::server
