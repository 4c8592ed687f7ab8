#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "server/batch_plan.h"
#include "server/request.h"
#include "server/workers.h"

namespace frazil::server {

/// A request with its inputs by position, and what becomes of its results.
struct Job {
  Call call;
  std::vector<api::Array> inputs;
  Clock::time_point queued;
  /// Called once with the values of all outputs.
  std::function<void(Call, std::expected<std::vector<api::Array>, Refusal>)> finish;
};

/// Jobs that wait for a model, and which of them run together next. A job that finds an idle worker runs at once, or
/// after a delay where more are likely to come; those that come while all workers are busy are joined. Higher levels of
/// priority go first, then earlier ones. Thread-safe.
class Batcher : public std::enable_shared_from_this<Batcher> {
 public:
  struct Member {
    Job job;
    BatchPlan::Shape shape;
  };
  using Run = std::function<void(std::vector<Member>)>;

  /// `run` answers the jobs it is given; it is called on workers, at the same time for several batches.
  Batcher(Batching config, Workers& workers, Run run)
      : config_(std::move(config)), workers_(workers), run_(std::move(run)) {}

  /// Throws Refusal (too_many) when too many jobs wait, and Refusal (bad_request) for a priority that there is not, of
  /// a client; one of a pipeline's request above the levels is the lowest.
  void push(Job job, BatchPlan::Shape shape);
  /// What push() would throw because too many jobs wait.
  std::optional<Refusal> refusal() const;

 private:
  struct Waiting {
    Member member;
    std::uint64_t level;
  };
  using Queue = std::list<Waiting>;

  void work();
  void start_locked();
  Clock::time_point ready_at() const;
  Clock::duration patience() const;
  std::vector<Member> take();
  bool fits(const std::vector<Member>& batch, const BatchPlan::Shape& shape) const;
  std::optional<Refusal> refusal_locked() const;
  std::uint64_t level_of(const Call& call) const;

  const Batching config_;
  Workers& workers_;
  const Run run_;
  mutable std::mutex mutex_;
  Queue queue_;           // by level and arrival
  unsigned running_ = 0;  // workers that take jobs
  bool timer_ = false;
  Clock::time_point last_;
  Clock::duration gap_{std::chrono::seconds(1)};  // mean time between jobs
};

}  // namespace frazil::server
