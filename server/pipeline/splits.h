#pragma once

#include <string>

#include "server/pipeline/pipeline.h"

// Administration of guarded splits of a pipeline.
namespace frazil::server {

/// Returns a JSON array; docs/reference/pipelines.md describes its fields. Throws Refusal (bad_request) if it is not a
/// pipeline.
std::string splits_json(const Served& served);

/// Ends the rollback of an arm of a split; an empty name matches all. Throws Refusal: bad_request if it is not a
/// pipeline, not_found if no guarded arm matches.
void reset_splits(const Served& served, const std::string& split, const std::string& arm);

}  // namespace frazil::server
