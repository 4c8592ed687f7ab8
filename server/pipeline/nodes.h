#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "govern/gate/governor.h"
#include "server/core/workers.h"
#include "server/pipeline/formula.h"
#include "server/pipeline/node.h"

// The kinds of nodes.
namespace frazil::server {

/// The facts of a pipeline's call that a policy receives.
struct CallPolicy {
  std::shared_ptr<govern::Governor> governor = {};  ///< null: there is no policy
  const char* by = "call";                          ///< the innermost node around the call: "split", "fallback", ...
  std::string caller = {};                          ///< the pipeline as NAME/VERSION
  bool explicit_version = false;                    ///< the file names the version
};

/// Calls a model or another pipeline. Each run asks hook `dispatch` with the tenant of the request.
struct CallParts {
  std::shared_ptr<const Served> target;
  CallPolicy policy = {};
  std::vector<std::pair<std::string, Slot>> inputs, outputs;
  std::vector<std::pair<std::string, std::string>> emits;  ///< name of an output in the target, and here
  std::optional<std::chrono::microseconds> time_out;
};
NodePtr call_node(std::string name, CallParts parts);

/// Runs the first block whose formula is true. A block without a formula always matches. Refuses the request if no
/// block matches. `results` are defined by the results of the block. A case whose costs or time exceed what the request
/// has left is replaced by its cheaper one.
struct Case {
  std::optional<Formula> when;
  Block block;
  std::optional<std::size_t> cheaper = {};  ///< index of a case; nullopt: none
};
NodePtr switch_node(std::string name, std::vector<Case> cases, std::vector<Slot> results);

/// Runs its block while the formula is true, at most `most` times. Each iteration may emit a part of the answer. A
/// sequence that the request starts is started by the first iteration, and no iteration ends it. Requests in loops can
/// be batched in the models' queues.
struct LoopParts {
  using Carried = NodeView::Carried;
  std::vector<Carried> carried;
  std::optional<Formula> again;
  Block block;                                      ///< its results are the next and the emitted values
  std::vector<std::pair<std::string, Slot>> emits;  ///< outputs and their values at the end of an iteration
  std::int64_t most;
  Slot count;  ///< receives the number of iterations, i64[]
};
NodePtr loop_node(std::string name, LoopParts parts, Workers& workers);

/// Runs one block chosen at random by shares that sum to 1. Requests with equal `by` use the same block; without `by`
/// each request draws again. Requests of a rolled-back arm use the baseline.
struct Arm {
  double share;
  Block block;
  std::shared_ptr<Rollback> rollback = nullptr;  ///< null: none
  std::optional<std::size_t> cheaper = {};       ///< as in Case
};
struct SplitParts {
  std::optional<Formula> by;
  std::vector<Arm> arms;
  std::size_t baseline = 0;  ///< the arm that others are compared with; has no rollback
};
NodePtr split_node(std::string name, SplitParts parts, std::vector<Slot> results);

/// Runs blocks in order until one succeeds. A block that is expected to miss the deadline is skipped, except the last
/// one. No further block runs after a block that has emitted a part.
NodePtr fallback_node(std::string name, std::vector<Block> blocks, std::vector<Slot> results);

/// Runs blocks concurrently. The first success cancels the others.
NodePtr race_node(std::string name, std::vector<Block> blocks, std::vector<Slot> results, Workers& workers);

/// Runs blocks concurrently and fails if fewer than `least` succeed. Each result combines the results of the blocks:
/// their mean, or the result of the first successful block.
struct EnsembleParts {
  std::vector<Block> blocks;
  std::size_t least;
  bool mean;  ///< for f32 tensors of equal sizes; otherwise the first success
};
NodePtr ensemble_node(std::string name, EnsembleParts parts, std::vector<Slot> results, Workers& workers);

/// Runs a block on copies of a share of the traffic. Its results and errors are discarded.
NodePtr shadow_node(std::string name, double share, Block block, Workers& workers);

}  // namespace frazil::server
