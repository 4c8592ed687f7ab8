#include "base/limits/execution_limits.h"

#include "base/limits/deferred_free.h"

namespace frazil {
namespace {

thread_local ExecutionLimits* current_limits = nullptr;

}  // namespace

bool MemoryMeter::charge(std::size_t bytes) noexcept {
  const std::size_t most = limit();
  std::size_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > most || used > most - bytes) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

Result<MemoryCharge> MemoryCharge::make(std::size_t bytes) {
  MemoryCharge charge;
  if (current_limits == nullptr) return charge;
  const auto& meter = current_limits->meter();
  // Values queued for release still count, so wait for them and try again.
  if (!meter->charge(bytes) && !(wait_until_freed() && meter->charge(bytes))) {
    return fail(Code::limit, "{} more bytes would exceed the memory limit of {} bytes; {} are in use", bytes,
                meter->limit(), meter->used());
  }
  charge.meter_ = meter;
  charge.bytes_.store(bytes, std::memory_order_relaxed);
  return charge;
}

MemoryCharge::MemoryCharge(MemoryCharge&& other) noexcept
    : meter_(std::move(other.meter_)), bytes_(other.bytes_.exchange(0, std::memory_order_relaxed)) {}

MemoryCharge& MemoryCharge::operator=(MemoryCharge&& other) noexcept {
  release();
  meter_ = std::move(other.meter_);
  bytes_.store(other.bytes_.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
  return *this;
}

Status MemoryCharge::grow(std::size_t bytes) {
  FRAZIL_TRY(MemoryCharge more, make(bytes));
  if (meter_ == nullptr) meter_ = more.meter_;
  bytes_.fetch_add(more.bytes_.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
  return {};
}

void MemoryCharge::add(std::size_t bytes) noexcept {
  if (meter_ == nullptr) return;
  meter_->add(bytes);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void MemoryCharge::release() noexcept {
  if (const std::size_t bytes = bytes_.exchange(0, std::memory_order_relaxed); bytes != 0) meter_->release(bytes);
}

void ExecutionLimits::begin(const Limits& limits) {
  limits_ = limits;
  outer_ = current_limits == this ? nullptr : current_limits;
  meter_->set_limit(limits.memory_bytes);
  stop_.store(Stop::none, std::memory_order_relaxed);
  text_.store(0, std::memory_order_relaxed);
  steps_left_ = limits.steps;
  if (limits.time) deadline_ = std::chrono::steady_clock::now() + *limits.time;
}

void ExecutionLimits::stop(Stop cause) noexcept {
  Stop none = Stop::none;
  stop_.compare_exchange_strong(none, cause, std::memory_order_relaxed);
}

bool ExecutionLimits::poll() noexcept {
  if (limits_.time && std::chrono::steady_clock::now() > deadline_) stop(Stop::late);
  if (outer_ != nullptr && outer_->poll()) stop(Stop::outer);
  return stopping();
}

std::unexpected<Fault> ExecutionLimits::reason() const {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  switch (stop_.load(std::memory_order_relaxed)) {
    case Stop::late:
      return fail(Code::limit, "the run passed its deadline of {:.6g} ms", Milliseconds(*limits_.time).count());
    case Stop::too_much_text:
      return fail(Code::limit, "the strings of the run would exceed the memory limit of {} bytes; {} are in use",
                  limits_.memory_bytes, meter_->used());
    case Stop::outer: return outer_->reason();
    default: return fail(Code::cancelled, "the run was cancelled");
  }
}

bool ExecutionLimits::count_text(std::size_t bytes) noexcept {
  const std::size_t used = meter_->used(), most = meter_->limit();
  if (!stopping() && used <= most && bytes <= most - used) {
    if (text_.fetch_add(bytes, std::memory_order_relaxed) <= most - used - bytes) return true;
    text_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  stop(Stop::too_much_text);
  return false;
}

Status ExecutionLimits::consume_step() {
  constexpr std::uint64_t kLookEvery = 16;
  if (steps_left_ == 0) return fail(Code::limit, "the run took more than {} steps", limits_.steps);
  if (--steps_left_ % kLookEvery == 0 ? poll() : stopping()) return reason();
  return {};
}

ExecutionLimits* ExecutionLimits::current() noexcept { return current_limits; }

LimitsScope::LimitsScope(ExecutionLimits* execution_limits) noexcept : before_(current_limits) {
  current_limits = execution_limits;
}
LimitsScope::~LimitsScope() { current_limits = before_; }

void assign_text(std::string& to, const std::string& from) {
  if (current_limits == nullptr || current_limits->count_text(from.size())) to = from;
}

bool stop_requested() noexcept { return current_limits != nullptr && current_limits->poll(); }

}  // namespace frazil
