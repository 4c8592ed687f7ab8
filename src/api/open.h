#pragma once

#include <memory>
#include <span>
#include <vector>

#include "api/access.h"

// What all that runs models has in common.
namespace frazil::api {

/// Throws for tiers that there are not.
Way way_of(const Options& options);
std::unique_ptr<exec::Session> open_session(exec::Executable& executable, const Options& options);
/// Asks the model's policy.
void check_run(const Model& model);
/// By position; empty where an input is not given.
std::vector<Array> in_order(const Model& model, std::span<const Named> named);

}  // namespace frazil::api
