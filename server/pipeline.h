#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/holdings.h"
#include "server/pipeline_node.h"
#include "server/repository.h"

namespace frazil::server {

/// Calls of models with branches, loops and fallbacks between them, which clients see as one model. It keeps the
/// versions of the models that it was made with. Thread-safe.
class Pipeline : public Served {
 public:
  /// A model that is called, under the name that the file has for it.
  struct Use {
    std::string model, version;  ///< empty: the newest
    std::shared_ptr<const Served> target;
  };
  struct Parts {
    std::vector<api::Port> inputs, outputs;  ///< inputs have the first slots, in this order
    std::vector<api::Port> emitted;          ///< what its nodes emit
    std::size_t slots = 0;
    Block block;
    std::vector<Slot> results;  ///< of outputs
    std::optional<double> deadline_ms;
    std::string digest;
    std::vector<Use> uses;
    std::shared_ptr<const Holdings> holdings;
  };
  Pipeline(const std::string& name, Parts parts) : Served(name, "1"), parts_(std::move(parts)) {}

  std::string_view platform() const override { return "frazil_pipeline"; }
  const std::vector<api::Port>& inputs() const override { return parts_.inputs; }
  const std::vector<api::Port>& outputs() const override { return parts_.outputs; }
  const std::vector<api::Port>& emitted() const override { return parts_.emitted; }
  std::string digest() const override { return parts_.digest; }
  std::optional<Clock::duration> usual_limit() const override {
    return parts_.deadline_ms ? std::optional(duration_of(*parts_.deadline_ms)) : std::nullopt;
  }
  Clock::duration expected_time() const override { return parts_.block.expected(); }
  const Holdings* holdings() const { return parts_.holdings.get(); }
  /// What it does.
  const Block& block() const { return parts_.block; }
  const std::vector<Use>& uses() const { return parts_.uses; }
  /// Whether its names still mean the models that it has.
  bool is_up_to_date(const Repository& models) const;

 protected:
  void start(Call call) const override;

 private:
  std::shared_ptr<Emitter> emitter_for(std::shared_ptr<const InferRequest> request,
                                       std::function<void(InferResponse)> part) const;

  Parts parts_;
};

/// The names of the models and pipelines that a pipeline's file has. Throws api::Error (bad_input) that names file,
/// line and key for a file that is no pipeline.
std::vector<std::string> models_of_pipeline(const std::string& path);

/// Reads a pipeline; docs/pipelines.md has the form. `before`: the one that it replaces, whose holdings it takes over;
/// may be null. `tell` is told of arms that are rolled back. Throws api::Error (bad_input) that names file, line and
/// key: for a model that `models` does not have, for a value that is not known, and for types that do not agree.
std::shared_ptr<Pipeline> read_pipeline(const std::string& path, const std::string& name, const Repository& models,
                                        const Pipeline* before, Workers& workers, const Tell& tell);

}  // namespace frazil::server
