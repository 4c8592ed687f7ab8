#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/model/model_parts.h"
#include "server/model/model_runner.h"
#include "server/model/request_shapes.h"
#include "server/model/sequence_turns.h"
#include "server/model/served.h"

namespace frazil::server {

/// One version of an ONNX model. Thread-safe.
class ServedModel : public Served {
 public:
  using Parts = ModelParts;
  /// Plans the model, runs its canaries and warms it up. Throws api::Error for a configuration that does not fit the
  /// model, and CanaryFault.
  ServedModel(const std::string& name, const std::string& version, Parts parts);

  const api::Model& model() const { return parts_.model; }
  /// Returns the limit of the memory of a run in bytes; nullopt: none.
  std::optional<std::uint64_t> memory_limit() const { return parts_.options.memory_limit; }
  const Parts& parts() const { return parts_; }
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
  void begin(Call call) const;
  /// Makes the call's next failure part of its recording.
  void record_failure(Call& call) const;
  /// Sets what the record has of the next run of a replay: its state and its way. Returns false if the record has the
  /// answer itself, which the job has then got.
  bool take_recorded(Job& job) const;
  std::vector<api::Array> inputs_of(InferRequest& request) const;

  Parts parts_;
  std::string digest_;
  RequestShapes shapes_;
  std::optional<SequenceTurns> turns_;
  std::optional<ModelRunner> runner_;
};

}  // namespace frazil::server
