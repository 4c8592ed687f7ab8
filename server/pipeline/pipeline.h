#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/access/governed.h"
#include "server/config/sandbox_level.h"
#include "server/core/workers.h"
#include "server/model/repository.h"
#include "server/pipeline/holdings.h"
#include "server/pipeline/node.h"
#include "server/pipeline/pipeline_graph.h"
#include "server/pipeline/pipeline_source.h"

namespace frazil::govern {
class Governor;
}  // namespace frazil::govern

namespace frazil::server {

/// The requirements of the server on the pipelines that it reads.
struct PipelineRules {
  bool hides_details = false;  ///< as in HostScope; also true for a pipeline that declares personal values
  SandboxLevel least_sandbox = SandboxLevel::none;  ///< of steps that run in processes
  std::shared_ptr<govern::Governor> governor = {};  ///< the policy of calls, connections and programs; null: none
};

/// A graph of model calls with branches, loops and fallbacks, which clients see as one model. It keeps the versions of
/// models that it was created with. Thread-safe.
class Pipeline : public Served {
 public:
  /// A called model, with the name and version from the file.
  struct Use {
    std::string model, version;  ///< empty version: the newest
    std::shared_ptr<const Served> target;
  };
  struct Parts {
    std::vector<api::Port> inputs, outputs;
    std::vector<api::Port> emitted;  ///< outputs that the nodes emit
    std::vector<Slot> input_slots;   ///< values of the inputs
    Block block;                     ///< its results are the outputs
    std::optional<double> deadline_ms;
    std::string digest;
    std::string own_digest;  ///< of the file and its code, without the called models
    std::vector<Use> uses;
    std::shared_ptr<const Holdings> holdings;
    std::vector<std::string> personal;  ///< see Served::personal()
    std::shared_ptr<const PipelineSource> source;
  };
  /// Throws api::Error (bad_model) if the parts do not fit together.
  Pipeline(const std::string& name, Parts parts)
      : Served(name, "1"), parts_(std::move(parts)), graph_(name, parts_.block, parts_.input_slots) {}

  std::string_view platform() const override { return "frazil_pipeline"; }
  const std::vector<api::Port>& inputs() const override { return parts_.inputs; }
  const std::vector<api::Port>& outputs() const override { return parts_.outputs; }
  const std::vector<api::Port>& emitted() const override { return parts_.emitted; }
  std::string digest() const override { return parts_.digest; }
  const std::string& own_digest() const { return parts_.own_digest; }
  std::optional<Clock::duration> usual_limit() const override {
    return parts_.deadline_ms ? std::optional(duration_of(*parts_.deadline_ms)) : std::nullopt;
  }
  Clock::duration expected_time() const override { return parts_.block.expected(); }
  const std::vector<std::string>& personal() const override { return parts_.personal; }
  /// Returns the values of inputs() in the block.
  const std::vector<Slot>& input_slots() const { return parts_.input_slots; }
  const Holdings* holdings() const { return parts_.holdings.get(); }
  /// Returns the root block.
  const Block& block() const { return parts_.block; }
  const PipelineGraph& graph() const { return graph_; }
  const std::vector<Use>& uses() const { return parts_.uses; }
  const PipelineSource& source() const { return *parts_.source; }
  /// Returns true if its names still refer to the same versions.
  bool is_up_to_date(const Repository& models) const;

 protected:
  void start(Call call) const override;

 private:
  std::shared_ptr<Emitter> emitter_for(std::shared_ptr<const InferRequest> request,
                                       std::function<void(InferResponse)> part) const;

  Parts parts_;
  PipelineGraph graph_;
};

/// Returns the names of the models and pipelines in a pipeline's file. Throws api::Error (bad_input) that names file,
/// line and key for an invalid file.
std::vector<std::string> models_of_pipeline(const std::string& path);

/// Reads a pipeline in the form of docs/reference/pipelines.md. `before` is the replaced pipeline, whose holdings are
/// taken over, or null. `notify` receives notices about rolled-back arms and levels of sandboxes. Throws api::Error
/// (bad_input) that names file, line and key for unknown models, unknown values, type mismatches and levels that cannot
/// be reached.
std::shared_ptr<Pipeline> read_pipeline(const std::string& path, const std::string& name, const Repository& models,
                                        const Pipeline* before, Workers& workers, const NoticeSink& notify,
                                        const PipelineRules& rules = {});

/// Makes a pipeline from its source, for replays: its steps on hosts have the answers of a record, so that nothing
/// outside of the process is used. Throws api::Error (bad_input).
std::shared_ptr<Pipeline> kept_pipeline(const PipelineSource& source, const std::string& name, const Repository& models,
                                        Workers& workers);

}  // namespace frazil::server
