#pragma once

#include <optional>

#include <frazil/lazy.h>
#include <frazil/session_pool.h>

#include "server/batch/batch_plan.h"
#include "server/model/model_parts.h"

// The tests that a version of a model must pass before it is served.
namespace frazil::server {

/// Tries the candidate symbols for the batch. Batched requests must have the same results as alone. Throws api::Error
/// (bad_input) if no candidate has.
BatchPlan plan_batches(const std::string& name, const ModelParts& parts, const api::SessionPool& sessions);

/// The ways to batch a model: `plan` joins whole requests, `regrouped` batches equal work of separate requests; null:
/// neither.
struct ModelRuns {
  const BatchPlan* plan = nullptr;
  const api::BatchedModel* regrouped = nullptr;
};

/// Runs the canaries, alone and batched, as often as the configuration's warm-up wants. If there are no canaries, it
/// runs zeros. Throws CanaryFault.
void warm_up(const ModelParts& parts, const api::SessionPool& sessions, const ModelRuns& runs);

}  // namespace frazil::server
