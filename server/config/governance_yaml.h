#pragma once

#include "server/config/governance_config.h"
#include "server/config/yaml.h"

namespace frazil::server {

/// Reads the section `governance`. Throws api::Error (bad_input) that names the place.
GovernanceConfig read_governance(const YamlNode& node);

/// Reads a list of distinct names of personal values. Throws as read_governance().
std::vector<std::string> read_personal(const YamlNode& node);
/// Reads the name of a level. Throws as read_governance().
SandboxLevel read_sandbox_level(const YamlNode& node);

}  // namespace frazil::server
