#pragma once

#include <string>

#include "server/pipeline.h"

// The splits of a pipeline whose arms have guards, for those who operate it.
namespace frazil::server {

/// As a JSON array; docs/pipelines.md has its fields. Throws Refusal (bad_request) for what is no pipeline.
std::string splits_json(const Served& served);

/// Arms that were rolled back get their shares again: of a split and an arm, or with empty names of all. Throws
/// Refusal: bad_request for what is no pipeline, not_found where no guarded arm has these names.
void reset_splits(const Served& served, const std::string& split, const std::string& arm);

}  // namespace frazil::server
