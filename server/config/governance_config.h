#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/config/budget_config.h"
#include "server/config/sandbox_level.h"

// The section `governance` of the configuration file, as plain data.
namespace frazil::server {

struct GovernanceConfig {
  std::optional<BudgetConfig> budget;  ///< of callers without a tenant
  CostConfig cost;
  /// Inputs, parameters and features with personal values, by name; "*": all. What is computed from them is personal.
  std::vector<std::string> personal;
  /// What may be shown although it is computed from personal values: a name, or "FUNCTION of NAME" in a formula. "id"
  /// and "trace" are the ids of requests and of their traces.
  std::vector<std::string> shown;
  std::string keys;                           ///< folder with the keys of subjects; empty: none
  SandboxLevel sandbox = SandboxLevel::none;  ///< least level of steps in Python

  bool operator==(const GovernanceConfig&) const = default;
};

}  // namespace frazil::server
