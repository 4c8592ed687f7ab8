#pragma once

#include "server/config/sandbox_level.h"

namespace frazil::server {

/// The section `governance` of the configuration file.
struct GovernanceConfig {
  SandboxLevel sandbox = SandboxLevel::none;  ///< least level of steps in Python

  bool operator==(const GovernanceConfig&) const = default;
};

}  // namespace frazil::server
