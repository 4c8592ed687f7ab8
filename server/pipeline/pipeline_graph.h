#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <frazil/host_operator.h>
#include <frazil/session_pool.h>

#include "server/pipeline/node.h"

namespace frazil::server {

/// The operator of steps. Attributes: `step`, the number of the node; `part` (Lowering::part()); `results`, a type per
/// result: "f32" is of any rank, "f32[]" a scalar.
inline constexpr const char* kStepOperator = "frazil.server.Step";

/// Returns the beginning of an operator's definition. `name`: with its domain.
api::HostOperator operator_named(const std::string& name, std::string doc);

/// Returns the request of an operator's call. Throws api::Error (unsupported) outside of a pipeline.
const InferRequest& request_of(const api::HostStart& start);

/// A block of a pipeline as a graph. Each run has a session, which waits without a thread for what its steps call.
/// Thread-safe.
class PipelineGraph {
 public:
  static constexpr std::size_t kMaxIdle = 64;  ///< sessions that are kept for later requests

  /// `inputs`: the outer values, in the order of run(). `block` must outlive this object.
  PipelineGraph(const std::string& name, const Block& block, const std::vector<Slot>& inputs);

  /// Runs the block for a request. `done` is called once, on any thread, with the block's results. Never throws.
  void run(FlowPtr flow, std::vector<api::Array> inputs, std::function<void(StepResult)> done) const;
  const api::Model& model() const { return model_; }
  api::SessionPool::Counts sessions() const { return pool_.counts(); }

 private:
  std::shared_ptr<const std::vector<const Node*>> nodes_;
  api::Model model_;
  api::SessionPool pool_;
};

/// A block that a node runs as a graph of its own, with the positions of its inputs among the node's operands.
class OwnGraph {
 public:
  /// `operands`: those of the node; they contain what the block uses.
  OwnGraph(const Block& block, const std::vector<Slot>& operands);
  const PipelineGraph& graph() const { return *graph_; }
  /// Runs the block with its inputs from the node's operands.
  void run(FlowPtr flow, const std::vector<api::Array>& operands, std::function<void(StepResult)> done) const;

 private:
  const Block* block_;
  std::vector<std::size_t> positions_;
  std::unique_ptr<const PipelineGraph> graph_;
};

}  // namespace frazil::server
