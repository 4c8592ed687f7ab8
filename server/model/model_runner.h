#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <frazil/lazy.h>
#include <frazil/session_pool.h>

#include "server/batch/batcher.h"
#include "server/model/acceptance.h"
#include "server/model/model_parts.h"
#include "server/model/served.h"

namespace frazil::server {

/// Runs the requests of a model: alone, joined, or regrouped. Requests wait in its queue. Thread-safe.
class ModelRunner {
 public:
  /// Decides how requests are batched, and warms the model up. Throws as plan_batches() and warm_up(). `served` has the
  /// statistics, and outlives this object.
  ModelRunner(const Served& served, const ModelParts& parts);

  /// Runs the job and calls its `finish`, possibly before it returns. Throws Refusal as Batcher::push().
  void enqueue(Job job) const;
  /// Returns the refusal if too many jobs wait.
  std::optional<Refusal> refusal() const;
  /// Returns the layout of joined requests; null if requests are not joined.
  const BatchPlan* plan() const { return plan_ ? &*plan_ : nullptr; }
  Served::Checked checked() const;

 private:
  using Values = std::expected<std::vector<api::Array>, Refusal>;
  /// The run of a request: its start, the number of requests in it and the elements of padding.
  struct BatchRun {
    Clock::time_point begun;
    std::uint64_t requests = 1, padding = 0;
    RunShape shape = {};
  };
  /// The work of a run: its inputs by position, and the requests that wait for it.
  struct Work {
    const std::vector<std::span<const api::Array>>& requests;
    std::span<const BatchPlan::Shape> shapes;
    const std::vector<const Call*>& calls;
    std::uint64_t seed = 0;  ///< of the session's random numbers; 0: they continue
  };

  /// `shape`: how the inputs were arranged.
  void run_single(Job job, RunShape shape = {}) const;
  /// Runs the job of a replay in the recorded way, with zeros for the other requests of its batch.
  void run_recorded(Job job) const;
  void run_with_mates(Job job, const BatchPlan::Shape& own) const;
  /// Does the same as run_single(), but on a worker.
  void run_on_worker(Job job) const;
  void run_member(Batcher::Member member) const;
  void run_batch(std::vector<Batcher::Member> members) const;
  /// Returns the results of each request.
  std::vector<std::vector<api::Array>> run_joined(const Work& work, Clock::time_point begun) const;
  /// Returns the key and size of a request that can be joined with others.
  std::optional<BatchPlan::Shape> shape_of(std::span<const api::Array> inputs) const;
  /// Runs requests separately, but batches equal work among them.
  void run_regrouped(std::vector<Batcher::Member> members) const;
  std::vector<api::Array> run_session(const api::SessionPool& sessions, std::span<const api::Array> inputs,
                                      const std::vector<const Call*>& calls, Clock::time_point begun,
                                      std::uint64_t seed) const;
  /// Returns the seed of a run: a new one if the model draws random numbers and a recording needs to repeat them.
  std::uint64_t seed_for(const std::vector<const Call*>& calls) const;
  /// Adds a run to the recording of its request, or compares it with the record.
  void record(const Job& job, const Values& values, const RunShape& shape) const;
  void answer(Job job, Values values, const BatchRun& ran) const;
  void note(const Job& job, const BatchRun& ran, const std::string& why) const;
  void count_run(Clock::time_point begun, Clock::time_point ran, const std::vector<const Call*>& calls) const;
  void charge_batch(const std::vector<Batcher::Member>& members, std::span<const BatchPlan::Shape> shapes,
                    std::int64_t longest, Nanoseconds busy) const;
  /// Counts padding and returns the length to which requests are padded.
  std::int64_t count_padding(std::span<const BatchPlan::Shape> shapes) const;
  void check_async(std::span<const api::Array> inputs, const std::vector<api::Array>& values) const;

  const Served& served_;
  Workers& workers_;
  const api::Model model_;
  const api::Options options_;
  const bool calls_others_;  ///< the graph has nodes frazil.Call
  const bool draws_;         ///< it has operators that draw random numbers
  const bool flow_varies_;   ///< values of a request may decide what runs for the whole batch
  const api::SessionPool sessions_;
  const std::shared_ptr<ReferenceCheck> check_;
  std::optional<RaggedRuns> ragged_;            ///< for joining whole requests of different lengths
  std::optional<BatchPlan> plan_;               ///< for joining whole requests; or
  std::optional<api::BatchedModel> regrouped_;  ///< for batching equal work of separate requests
  std::shared_ptr<Batcher> batcher_;            ///< null: no batching
};

}  // namespace frazil::server
