#include "base/thread/worker_group.h"

#include <algorithm>
#include <array>
#include <chrono>

#if defined(__SSE__)
#include <immintrin.h>
#endif

#include "base/limits/execution_limits.h"
#include "base/thread/float_control.h"

namespace frazil {
namespace {

/// The time that a helper without a call, and a caller that waits for helpers, stay awake.
constexpr std::chrono::microseconds kAwake{100};

void relax() noexcept {
#if defined(__SSE__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Polls `done` for the time kAwake. Returns whether it has become true.
template <class Done>
bool watch(const Done& done) noexcept {
  constexpr int kLooksPerTime = 32;  // reading the clock takes as long as several polls
  const auto end = std::chrono::steady_clock::now() + kAwake;
  do {
    for (int i = 0; i < kLooksPerTime; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

/// The scheduler and the worker number of the innermost parallel_for() body that the thread runs.
struct BodyPlace {
  const Scheduler* scheduler = nullptr;
  unsigned worker = 0;
};
thread_local BodyPlace body_place;

class BodyScope {
 public:
  explicit BodyScope(BodyPlace place) noexcept { body_place = place; }
  ~BodyScope() { body_place = before_; }
  BodyScope(const BodyScope&) = delete;
  BodyScope& operator=(const BodyScope&) = delete;

 private:
  BodyPlace before_ = body_place;
};

bool must_stop(ExecutionLimits* limits) noexcept { return limits != nullptr && limits->poll(); }

/// Runs everything on the calling thread.
void run_alone(std::int64_t units, std::int64_t grain, Scheduler::Body body, unsigned worker) {
  ExecutionLimits* const limits = ExecutionLimits::current();
  for (std::int64_t begin = 0, end = 0; begin < units && !must_stop(limits); begin = end) {
    end = units - begin > grain ? begin + grain : units;
    body(begin, end, worker);
  }
}

}  // namespace

/// A call, on its caller's stack. Each worker begins with the same part of the ranges in every call, and then helps
/// with the other parts. Steps that work on the same rows thus find them in their core's cache.
struct WorkerGroup::Call {
  static constexpr unsigned kMaxParts = 16;
  struct alignas(64) Part {
    std::atomic<std::int64_t> next = 0;  // the next range; may exceed `end`
    std::int64_t end = 0;
    bool has_ranges() const noexcept { return next.load(std::memory_order_relaxed) < end; }
  };

  Scheduler::Body body;
  const Scheduler* owner;
  std::int64_t units, grain, ranges;
  ExecutionLimits* limits = ExecutionLimits::current();
  FloatControl control = FloatControl::current();
  Call* behind = nullptr;
  bool caller_sleeps = false;                    // guarded by the group's mutex
  alignas(64) std::atomic<unsigned> inside = 0;  // helpers inside; changes under the group's mutex
  unsigned part_count;
  std::array<Part, kMaxParts> parts;

  Call(std::int64_t n, std::int64_t at_once, Scheduler::Body what, const Scheduler& whose, unsigned workers) noexcept
      : body(what),
        owner(&whose),
        units(n),
        grain(at_once),
        ranges((n - 1) / at_once + 1),
        part_count(std::min(workers, kMaxParts)) {
    for (unsigned i = 0; i < part_count; ++i) {
      parts[i].next.store(begin_of(i), std::memory_order_relaxed);
      parts[i].end = begin_of(i + 1);
    }
  }

  /// Returns the first range of a part. `ranges` may be as large as its type allows.
  std::int64_t begin_of(unsigned part) const noexcept {
    const std::int64_t n = part_count, whole = ranges / n, rest = ranges % n;
    return part * whole + std::min<std::int64_t>(part, rest);
  }
  bool has_ranges() const noexcept {
    return std::any_of(parts.begin(), parts.begin() + part_count, [](const Part& p) { return p.has_ranges(); });
  }
  /// Returns how many more helpers would find a range, in addition to the caller and those inside. At most `most`.
  std::int64_t places_for(std::int64_t most) const noexcept {
    std::int64_t left = -1;
    for (unsigned i = 0; i < part_count; ++i) {
      left += std::max<std::int64_t>(parts[i].end - parts[i].next.load(std::memory_order_relaxed), 0);
    }
    return std::clamp<std::int64_t>(left - inside.load(std::memory_order_relaxed), 0, most);
  }
  void work(unsigned worker) noexcept {
    const BodyScope scope({owner, worker});
    for (unsigned i = 0; i < part_count; ++i) {
      if (!work_on(parts[(worker + i) % part_count], worker)) return stop();
    }
  }
  /// Works on one part. Returns false once the limits request a stop.
  bool work_on(Part& part, unsigned worker) noexcept {
    while (part.has_ranges()) {
      const std::int64_t range = part.next.fetch_add(1, std::memory_order_relaxed);
      if (range >= part.end) return true;
      if (must_stop(limits)) return false;
      const std::int64_t begin = range * grain;
      body(begin, range + 1 == ranges ? units : begin + grain, worker);
    }
    return true;
  }
  void stop() noexcept {
    for (unsigned i = 0; i < part_count; ++i) parts[i].next.store(parts[i].end, std::memory_order_relaxed);
  }
};

WorkerGroup::WorkerGroup(unsigned helpers) : helpers_(helpers) {
  for (unsigned number = helpers; number > 0; --number) free_numbers_.push_back(number);
}

/// Opens a call. Returns how many more helpers must be asked to come.
unsigned WorkerGroup::open(Call& call) noexcept {
  const std::scoped_lock lock(mutex_);
  call.behind = calls_;
  calls_ = &call;
  opened_.fetch_add(1, std::memory_order_release);
  std::int64_t wanted = -static_cast<std::int64_t>(idle_ + requested_);
  for (const Call* c = calls_; c != nullptr; c = c->behind) wanted += c->places_for(helpers_);
  const auto missing = static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 0, helpers_ - active_ - requested_));
  requested_ += missing;
  return missing;
}

/// Closes a call for further helpers, and waits for those inside.
void WorkerGroup::close(Call& call) noexcept {
  std::unique_lock lock(mutex_);
  Call** at = &calls_;
  while (*at != &call) at = &(*at)->behind;
  *at = call.behind;
  const auto empty = [&] { return call.inside.load(std::memory_order_acquire) == 0; };
  if (empty()) return;
  lock.unlock();
  if (watch(empty)) return;
  lock.lock();
  call.caller_sleeps = true;
  left_.wait(lock, empty);
}

/// Leaves a call, which may be destroyed as soon as no helper is inside.
void WorkerGroup::leave(Call& call) noexcept {
  const unsigned others = call.inside.load(std::memory_order_relaxed) - 1;
  const bool wake = others == 0 && call.caller_sleeps;
  call.inside.store(others, std::memory_order_release);
  if (wake) left_.notify_all();
}

void WorkerGroup::share(std::int64_t units, std::int64_t grain, Scheduler::Body body, const Scheduler& owner,
                        FunctionRef<unsigned(unsigned)> request_helpers) {
  Call call(units, grain, body, owner, helpers_ + 1);
  if (const unsigned missing = open(call); missing != 0) {
    if (const unsigned stay_away = missing - request_helpers(missing); stay_away != 0) {
      const std::scoped_lock lock(mutex_);
      requested_ -= stay_away;
    }
  }
  call.work(0);
  close(call);
}

WorkerGroup::Call* WorkerGroup::find_call() noexcept {
  Call* best = nullptr;
  unsigned fewest = ~0u;
  for (Call* call = calls_; call != nullptr; call = call->behind) {
    const unsigned inside = call->inside.load(std::memory_order_relaxed);
    if (inside < fewest && call->has_ranges()) best = call, fewest = inside;
  }
  return best;
}

/// Waits for a call. Returns false if there was none for a while.
bool WorkerGroup::wait_for_call(std::unique_lock<std::mutex>& lock) {
  const unsigned seen = opened_.load(std::memory_order_relaxed);
  const auto more = [&] { return opened_.load(std::memory_order_acquire) != seen || dismissed_.load(); };
  ++idle_;
  lock.unlock();
  watch(more);
  lock.lock();
  --idle_;
  return more() && !dismissed_;
}

void WorkerGroup::run_helper() {
  std::unique_lock lock(mutex_);
  --requested_;
  if (dismissed_) return;
  ++active_;
  const unsigned number = free_numbers_.back();
  free_numbers_.pop_back();
  do {
    while (Call* const call = find_call()) {
      call->inside.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      {
        const LimitsScope limits(call->limits);
        const FloatControlScope control(call->control);
        call->work(number);
      }
      lock.lock();
      leave(*call);
    }
  } while (wait_for_call(lock));
  free_numbers_.push_back(number);
  if (--active_ == 0 && dismissed_) left_.notify_all();
}

void WorkerGroup::dismiss() noexcept {
  std::unique_lock lock(mutex_);
  dismissed_ = true;
  left_.wait(lock, [&] { return active_ == 0; });
}

void WorkerGroupScheduler::parallel_for(std::int64_t units, std::int64_t grain, Body body) {
  grain = std::max<std::int64_t>(grain, 1);
  const BodyPlace place = body_place;
  if (place.scheduler == this) return run_alone(units, grain, body, place.worker);
  if (units > grain && !threads_are_lost()) {
    return group_->share(units, grain, body, *this, [this](unsigned count) { return request_helpers(count); });
  }
  const BodyScope scope({this, 0});
  run_alone(units, grain, body, 0);
}

bool WorkerGroupScheduler::leak_lost_threads() noexcept {
  if (!threads_are_lost()) return false;
  new std::shared_ptr<WorkerGroup>(group_);
  return true;
}

void InlineScheduler::parallel_for(std::int64_t units, std::int64_t grain, Body body) {
  const BodyScope scope({this, 0});
  run_alone(units, std::max<std::int64_t>(grain, 1), body, 0);
}

}  // namespace frazil
