#include "exec/run/session.h"

#include <algorithm>
#include <new>

#include "base/limits/no_memory.h"
#include "base/os/io.h"

namespace frazil::exec {

Session::Session(std::shared_ptr<Executable> executable)
    : executable_(std::move(executable)), specialisations_(executable_, context_) {}

void Session::set_scheduler(std::shared_ptr<Scheduler> scheduler) {
  if (scheduler != nullptr && scheduler->workers() < 2) scheduler = nullptr;
  context_.scheduler = std::move(scheduler);
  specialisations_.drop_memory();  // steps were prepared for other workers
}

/// Numbers the streams from here on. The first streams of different seeds lie far apart: a bijection scatters them over
/// all 64-bit numbers (the finaliser of Steele, Lea and Flood's SplitMix, OOPSLA 2014). It maps seed 0 to 0.
void Session::set_seed(std::uint64_t seed) {
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9U;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebU;
  context_.execution_limits.rewind_streams(seed ^ (seed >> 31));
}

void Session::trim() {
  specialisations_.drop_memory();
  release_free_memory();
}

Result<std::vector<Datum>> Session::run(std::span<const Datum> inputs) {
  std::vector<Datum> outputs;
  FRAZIL_CHECK(run(inputs, outputs));
  return outputs;
}

namespace {

void discharge(const Datum& value) {
  if (value.is_tensor()) return value.tensor().buffer().discharge();
  if (!value.is_sequence()) return;
  value.sequence().charge.release();
  std::ranges::for_each(value.sequence().items, discharge);
}

}  // namespace

Status Session::run(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  begin();
  context_.may_leave = false;
  const LimitsScope scope(&context_.execution_limits);
  try {
    FRAZIL_CHECK(end(specialisations_.run(inputs, outputs), outputs));
    return {};
  } catch (const std::bad_alloc&) {
    return no_memory_left();
  }
}

Result<std::shared_ptr<Event>> Session::start(std::span<const Datum> inputs, std::vector<Datum>& outputs) {
  const LimitsScope no_outer(nullptr);  // the run may outlive the one that encloses this call
  begin();
  context_.may_leave = true;
  inputs_ = inputs;
  const LimitsScope scope(&context_.execution_limits);
  try {
    return end(specialisations_.run(inputs, outputs), outputs);
  } catch (const std::bad_alloc&) {
    return no_memory_left();
  }
}

Result<std::shared_ptr<Event>> Session::go_on() {
  std::vector<Datum>& outputs = *std::exchange(outputs_, nullptr);
  context_.execution_limits.poll();
  const LimitsScope scope(&context_.execution_limits);
  try {
    return end(specialisations_.go_on(inputs_, outputs), outputs);
  } catch (const std::bad_alloc&) {
    return no_memory_left();
  }
}

void Session::abandon() {
  if (std::exchange(outputs_, nullptr) == nullptr) return;
  specialisations_.abandon();
  specialisations_.release();
}

void Session::begin() {
  abandon();
  context_.event = nullptr;
  ExecutionLimits& limits = context_.execution_limits;
  ++context_.counters.runs;
  limits.begin(context_.limits);
  // begin() forgets earlier calls of cancel(). A thread that sets *stop after this exchange calls cancel() after
  // begin(), because one of the two exchanges sees the other.
  if (stop_ != nullptr && stop_->exchange(false, std::memory_order_acq_rel)) limits.cancel();
}

/// Finishes a run unless it waits.
Result<std::shared_ptr<Event>> Session::end(Result<bool> ended, std::vector<Datum>& outputs) {
  if (ended && !*ended) {
    outputs_ = &outputs;
    return context_.event;
  }
  context_.event = nullptr;
  specialisations_.release();
  // An interrupted kernel leaves undefined data, so neither results nor errors are valid.
  if (const ExecutionLimits& limits = context_.execution_limits; limits.stopping()) return limits.reason();
  FRAZIL_CHECK(ended);
  std::ranges::for_each(outputs, discharge);
  return nullptr;
}

}  // namespace frazil::exec
