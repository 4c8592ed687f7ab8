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

#include "server/batch/batch_plan.h"
#include "server/core/workers.h"
#include "server/request/recording.h"
#include "server/request/request.h"

namespace frazil::server {

/// A request with its inputs by position and the callback for its results.
struct Job {
  Call call;
  std::vector<api::Array> inputs;
  Clock::time_point queued;
  std::vector<NamedArray> state = {};     ///< inputs from the state of the request's sequence, for its recording
  std::optional<RunShape> recorded = {};  ///< of a replay: how the model ran; nullopt: the queue decides
  /// Called once with the values of all outputs.
  std::function<void(Call, std::expected<std::vector<api::Array>, Refusal>)> finish;
};

/// A queue of jobs for one model that forms batches. A job that finds an idle worker runs immediately, or after a delay
/// if more jobs are likely to arrive. Jobs that arrive while all workers are busy are batched. Jobs are ordered by
/// priority level, then by arrival. Thread-safe.
class Batcher : public std::enable_shared_from_this<Batcher> {
 public:
  struct Member {
    Job job;
    BatchPlan::Shape shape;
  };
  using Run = std::function<void(std::vector<Member>)>;

  /// `run` answers the jobs it receives. It is called on workers, concurrently for several batches.
  Batcher(Batching config, Workers& workers, Run run)
      : config_(std::move(config)), workers_(workers), run_(std::move(run)) {}

  /// Throws Refusal (too_many) when too many jobs wait, and Refusal (bad_request) for an unknown priority. A request of
  /// a pipeline with a priority above the model's levels gets the lowest level instead.
  void push(Job job, BatchPlan::Shape shape);
  /// Returns the refusal that push() would throw because too many jobs wait.
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
  Queue queue_;           // ordered by level and arrival
  unsigned running_ = 0;  // workers that process jobs
  bool timer_ = false;
  Clock::time_point last_;
  Clock::duration gap_{std::chrono::seconds(1)};  // moving average of the time between jobs
};

}  // namespace frazil::server
