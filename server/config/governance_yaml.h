#pragma once

#include "server/config/governance_config.h"
#include "server/config/yaml.h"

namespace frazil::server {

/// Reads the section `governance`. Throws api::Error (bad_input) that names file, line and key.
GovernanceConfig read_governance(const YamlNode& node);

}  // namespace frazil::server
