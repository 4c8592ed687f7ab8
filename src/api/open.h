#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "api/access.h"

// Helpers of all functions that run models.
namespace frazil::api {

/// Throws for an unknown tier.
ExecutionMode mode_of(const Options& options);
/// Returns the limits of a session with these options.
Limits limits_of(const Options& options);
std::unique_ptr<exec::Session> open_session(exec::Executable& executable, const Options& options);
/// Returns the deadline of a run with these options.
std::optional<std::chrono::steady_clock::duration> run_time_of(const Options& options);
/// Returns whether this thread is inside a run: it is called by a host operator, an observer or a policy.
bool inside_run() noexcept;
/// Checks the model's policy.
void check_run(const Model& model);
/// Returns the inputs by position, empty if an input is not given.
std::vector<Array> in_order(const Model& model, std::span<const Named> named);

}  // namespace frazil::api
