#pragma once

#include <optional>

#include "server/config/budget_config.h"

namespace frazil::server {

/// The section `governance` of the configuration file.
struct GovernanceConfig {
  std::optional<BudgetConfig> budget;  ///< of callers without a tenant
  CostConfig cost;

  bool operator==(const GovernanceConfig&) const = default;
};

}  // namespace frazil::server
