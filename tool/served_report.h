#pragma once

#include <string>

#include "govern/report/report.h"

namespace frazil::tool {

/// Returns the reports of all models and pipelines of a folder, as 'frazil serve' reads it:
/// {"models": [...], "pipelines": [...]}. Each has `version` too. Throws for a folder that cannot be served, and
/// Code::unsupported in a build without the server.
govern::Json report_of_folder(const std::string& folder, const govern::ReportOptions& options);

}  // namespace frazil::tool
