#pragma once

#include <string>
#include <vector>

#include "govern/bom/bill.h"

namespace frazil::tool {

/// Returns the pipelines of a served folder, NAME.yaml, as the server reads them: the models that they call, endpoints
/// and files with code. Throws Code::bad_input that names file, line and key.
std::vector<govern::BillPipeline> pipelines_of(const std::string& folder);

}  // namespace frazil::tool
