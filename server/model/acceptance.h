#pragma once

#include <optional>

#include <frazil/lazy.h>
#include <frazil/session_pool.h>

#include "server/batch/batch_plan.h"
#include "server/batch/ragged_plan.h"
#include "server/model/model_parts.h"

// The tests that a version of a model must pass before it is served.
namespace frazil::server {

/// The way to join requests of different lengths without padding.
struct RaggedRuns {
  RaggedPlan plan;
  api::SessionPool sessions;  ///< of the model that runs joined requests
};

/// Returns how requests of different lengths are joined; nullopt if the configuration pads no axis, if the model has no
/// ragged form, or if its results differ from those of requests alone. `options` are those of the new sessions.
std::optional<RaggedRuns> plan_ragged(const std::string& name, const ModelParts& parts,
                                      const api::SessionPool& sessions, const api::PoolOptions& options);

/// Tries the candidate symbols for the batch. Batched requests must have the same results as alone. Without `pad`,
/// their lengths agree. Throws api::Error (bad_input) if no candidate has.
BatchPlan plan_batches(const std::string& name, const ModelParts& parts, const api::SessionPool& sessions, bool pad);

/// The ways to batch a model: `plan` or `ragged` join whole requests, `regrouped` batches equal work of separate
/// requests. Those that are null are not used; `ragged` has precedence.
struct ModelRuns {
  const BatchPlan* plan = nullptr;
  const RaggedRuns* ragged = nullptr;
  const api::BatchedModel* regrouped = nullptr;
};

/// Runs the canaries, alone and batched, as often as the configuration's warm-up wants. Without canaries it runs
/// zeros. Throws CanaryFault.
void warm_up(const ModelParts& parts, const api::SessionPool& sessions, const ModelRuns& runs);

}  // namespace frazil::server
