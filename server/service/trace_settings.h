#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "govern/gate/governor.h"
#include "server/service/path_log.h"

namespace frazil::server {

/// Settings of Triton's trace extension by name. A setting without values returns to its configured value.
using TraceSettings = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Returns the settings that correspond to the recording of paths.
TraceSettings trace_settings(const PathLog& paths);
/// Changes the recording of paths; either all settings or none. Throws Refusal (bad_request) that names an unknown
/// setting, or one that has no meaning for paths. Asks hook `config` of `governor` unless it is null; `user` is the
/// tenant that asks. Throws Refusal (forbidden).
void change_trace_settings(PathLog& paths, const TraceSettings& settings,
                           std::shared_ptr<govern::Governor> governor = nullptr, const std::string& user = "");

}  // namespace frazil::server
