#include "server/batch/batcher.h"

#include <algorithm>
#include <string>

namespace frazil::server {
namespace {

/// Answers a job whose caller has left or whose time-out has passed. Returns true if it did.
bool is_over(Job& job) {
  if (job.call.caller != nullptr && job.call.caller->disconnected()) {
    job.finish(std::move(job.call), std::unexpected(Refusal(Http::cancelled, "the caller has disconnected")));
    return true;
  }
  if (job.call.deadline && *job.call.deadline <= Clock::now()) {
    job.finish(std::move(job.call), std::unexpected(Refusal(Http::timeout, "the time-out has passed in the queue")));
    return true;
  }
  return false;
}

}  // namespace

/// Returns the priority level of a call. The models of a pipeline may have different numbers of levels, so a request of
/// a pipeline with a priority above the model's levels gets the lowest level.
std::uint64_t Batcher::level_of(const Call& call) const {
  const std::uint64_t priority = call.request.priority;
  if (priority == 0) return config_.default_level;
  if (priority <= config_.levels) return priority;
  if (!call.node.empty()) return config_.levels;
  throw Refusal(Http::bad_request,
                "priority " + std::to_string(priority) + ": expected 1 to " + std::to_string(config_.levels));
}

void Batcher::push(Job job, BatchPlan::Shape shape) {
  const std::uint64_t level = level_of(job.call);
  const std::scoped_lock lock(mutex_);
  if (auto why = refusal_locked()) throw std::move(*why);
  constexpr auto kSlow = std::chrono::seconds(1);
  gap_ += (std::min<Clock::duration>(job.queued - last_, kSlow) - gap_) / 8;
  last_ = job.queued;
  const auto behind =
      std::ranges::find_if(queue_.rbegin(), queue_.rend(), [&](const Waiting& w) { return w.level <= level; });
  queue_.insert(behind.base(), Waiting{.member = {.job = std::move(job), .shape = std::move(shape)}, .level = level});
  start_locked();
}

std::optional<Refusal> Batcher::refusal() const {
  const std::scoped_lock lock(mutex_);
  return refusal_locked();
}

std::optional<Refusal> Batcher::refusal_locked() const {
  if (config_.max_queued == 0 || queue_.size() < config_.max_queued) return std::nullopt;
  return Refusal::plain(Http::too_many, "too many requests wait for the model: " + std::to_string(queue_.size()));
}

/// Returns how long the first job may wait for more. Returns 0 if the next job is unlikely to arrive in time.
Clock::duration Batcher::patience() const {
  const Clock::duration delay = config_.delay;
  return gap_ < delay ? delay : Clock::duration::zero();
}

Clock::time_point Batcher::ready_at() const {
  const std::uint64_t enough = config_.preferred.empty() ? config_.most : config_.preferred.front();
  std::uint64_t count = 0;
  Clock::time_point first = Clock::time_point::max();
  for (const Waiting& waiting : queue_) {
    count += static_cast<std::uint64_t>(waiting.member.shape.count);
    first = std::min(first, waiting.member.job.queued);
    if (count >= enough) return Clock::time_point::min();
  }
  return first + patience();
}

/// Posts work to a worker, immediately or when the first job has waited long enough. Requires the lock.
void Batcher::start_locked() {
  if (queue_.empty() || running_ == workers_.count()) return;
  const Clock::time_point ready = ready_at();
  if (ready <= Clock::now()) {
    ++running_;
    return workers_.post([self = shared_from_this()] { self->work(); });
  }
  if (std::exchange(timer_, true)) return;
  workers_.post_at(ready, [self = shared_from_this()] {
    const std::scoped_lock lock(self->mutex_);
    self->timer_ = false;
    self->start_locked();
  });
}

void Batcher::work() {
  std::vector<Member> batch = take();
  std::erase_if(batch, [](Member& member) { return is_over(member.job); });
  if (!batch.empty()) run_(std::move(batch));
  const std::scoped_lock lock(mutex_);
  --running_;
  start_locked();
}

bool Batcher::fits(const std::vector<Member>& batch, const BatchPlan::Shape& shape) const {
  if (batch.empty()) return true;
  if (shape.key != batch.front().shape.key) return false;
  std::int64_t count = shape.count, longest = shape.length, used = shape.count * shape.length;
  for (const Member& member : batch) {
    count += member.shape.count;
    longest = std::max(longest, member.shape.length);
    used += member.shape.count * member.shape.length;
  }
  if (count > static_cast<std::int64_t>(config_.most)) return false;
  return static_cast<double>(longest * count - used) <= config_.max_waste * static_cast<double>(longest * count);
}

std::vector<Batcher::Member> Batcher::take() {
  const std::scoped_lock lock(mutex_);
  std::vector<Member> batch;
  for (auto at = queue_.begin(); at != queue_.end();) {
    const auto next = std::next(at);
    if (fits(batch, at->member.shape)) {
      batch.push_back(std::move(at->member));
      queue_.erase(at);
    }
    at = next;
  }
  return batch;
}

}  // namespace frazil::server
