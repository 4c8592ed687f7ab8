#pragma once

#include "server/config/budget_config.h"
#include "server/config/yaml.h"

namespace frazil::server {

/// Reads the keys `per_request`, `per_day`, `per_second` and `memory` of a budget.
BudgetConfig read_budget(const YamlNode& node);
/// Reads the keys `reserve` and `prices`.
CostConfig read_cost(const YamlNode& node);

}  // namespace frazil::server
