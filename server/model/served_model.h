#pragma once

#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <frazil/lazy.h>
#include <frazil/model.h>

#include "server/batch/batcher.h"
#include "server/config/model_config.h"
#include "server/model/canary.h"
#include "server/model/reference_check.h"
#include "server/model/request_shapes.h"
#include "server/model/served.h"
#include "server/state/state_store.h"

namespace frazil::server {

/// One version of an ONNX model: its sessions, its queue, and the state of its sequences. Thread-safe.
class ServedModel : public Served {
 public:
  struct Parts {
    api::Model model;
    ModelConfig config;
    std::map<std::string, std::vector<std::string>, std::less<>> labels;  ///< per output
    api::Options options;
    Workers* workers = nullptr;
    StateStore* states = nullptr;
    ReferenceCheck::Share check;   ///< share of runs to compare with the reference executor
    std::vector<Canary> canaries;  ///< must be reproduced before the model is served
  };
  /// Plans the model, runs its canaries and warms it up. Throws api::Error for a configuration that does not fit the
  /// model, and CanaryFault.
  ServedModel(const std::string& name, const std::string& version, Parts parts);

  std::string_view platform() const override { return "frazil_onnx"; }
  const std::vector<api::Port>& inputs() const override { return parts_.model.inputs(); }
  const std::vector<api::Port>& outputs() const override { return parts_.model.outputs(); }
  bool needs(const api::Port& input) const override;
  std::string digest() const override { return digest_; }
  const ModelConfig& config() const override { return parts_.config; }
  std::optional<std::size_t> batch_axis_of_input(std::size_t i) const override;
  std::optional<std::size_t> batch_axis_of_output(std::size_t i) const override;
  const std::vector<std::string>& labels(std::string_view output) const override;
  Checked checked() const override;
  std::optional<Clock::duration> usual_limit() const override;
  std::optional<Refusal> refusal() const override;
  bool may_run_inline() const override;

 protected:
  void start(Call call) const override;

 private:
  using Values = std::expected<std::vector<api::Array>, Refusal>;
  class Borrowed;

  void check_states() const;
  api::Array first_state(std::size_t link) const;
  BatchPlan plan_batches() const;
  std::optional<std::string> try_out(const BatchPlan& plan) const;
  std::optional<std::string> try_out(const BatchPlan& plan, std::int64_t size) const;
  void warm_up() const;
  void try_canary(api::Session& session, const Canary& canary) const;
  void try_batched(api::Session& session, const Canary& canary) const;
  void try_regrouped(const Canary& canary) const;
  std::vector<api::Array> inputs_of(InferRequest& request) const;
  void enqueue(Job job) const;
  void run_single(Job job) const;
  /// Does the same as run_single(), but on a worker.
  void run_on_worker(Job job) const;
  void run_member(Batcher::Member member) const;
  void run_batch(std::vector<Batcher::Member> members) const;
  /// Runs requests separately, but batches equal work among them.
  void run_regrouped(std::vector<Batcher::Member> members) const;
  /// Counts padding and returns the longest length.
  std::int64_t count_padding(std::span<const BatchPlan::Shape> shapes) const;
  /// The run of a request: its start, the number of requests in it and the elements of padding.
  struct BatchRun {
    Clock::time_point begun;
    std::uint64_t requests = 1, padding = 0;
  };
  void answer(Job job, Values values, const BatchRun& ran) const;
  void note(const Job& job, const BatchRun& ran, const std::string& why) const;
  std::vector<api::Array> run_session(std::span<const api::Array> inputs, const std::vector<const Call*>& calls,
                                      Clock::time_point begun) const;
  /// Returns the key of a sequence of the caller's tenant.
  StateKey state_key(const Call& call, const std::string& sequence) const;
  void begin_turn(Job job) const;
  void begin_turn(Job job, State::Ptr parent) const;
  void count_run(Clock::time_point begun, Clock::time_point ran, const std::vector<const Call*>& calls) const;
  void check_async(std::span<const api::Array> inputs, const std::vector<api::Array>& values) const;
  State::Ptr origin_of(const SequencePart& sequence, const State::Ptr& state, State::Ptr parent) const;
  std::optional<std::string> growing_link(std::size_t output) const;
  void take_turn(Job job, const State::Ptr& state, State::Ptr parent) const;
  void repeat(Job job, const State& state) const;
  State::Ptr check_own(const std::string& sequence, State::Ptr state) const;
  void end_turn(const Call& call, const Values& values, const std::string& print) const;

  Parts parts_;
  std::string digest_;
  RequestShapes shapes_;
  std::shared_ptr<const Growing> growing_;
  std::optional<BatchPlan> plan_;               ///< for joining whole requests; or
  std::optional<api::BatchedModel> regrouped_;  ///< for batching equal work of separate requests
  std::shared_ptr<ReferenceCheck> check_;
  mutable std::shared_ptr<Batcher> batcher_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<api::Session>> idle_;
};

}  // namespace frazil::server
