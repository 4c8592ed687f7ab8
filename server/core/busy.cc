#include "server/core/busy.h"

#include <utility>

namespace frazil::server {
namespace {

thread_local BusyScope* innermost = nullptr;
thread_local Clock::time_point since;  // the time of `innermost` that is not in its `elapsed_` yet

Nanoseconds time_since_last() {
  const auto now = Clock::now();
  return now - std::exchange(since, now);
}

}  // namespace

BusyScope::BusyScope(std::shared_ptr<BusySink> sink) : sink_(std::move(sink)) {
  if (sink_ == nullptr) return;
  const Nanoseconds time = time_since_last();
  if (innermost != nullptr) innermost->elapsed_ += time;
  outer_ = std::exchange(innermost, this);
}

BusyScope::~BusyScope() {
  if (sink_ == nullptr) return;
  elapsed_ += time_since_last();
  innermost = outer_;
  charge();
}

void BusyScope::charge() {
  if (elapsed_.count() > 0) sink_->add_busy(std::exchange(elapsed_, Nanoseconds(0)));
}

void BusyScope::charge_all() {
  if (innermost == nullptr) return;
  innermost->elapsed_ += time_since_last();
  for (BusyScope* scope = innermost; scope != nullptr; scope = scope->outer_) scope->charge();
}

void BusyScope::replace(const BusySink& from, const std::shared_ptr<BusySink>& to) {
  for (BusyScope* scope = innermost; scope != nullptr; scope = scope->outer_) {
    if (scope->sink_.get() != &from) continue;
    scope->charge();
    scope->sink_ = to;
  }
}

}  // namespace frazil::server
