#include "server/config/governance_yaml.h"

#include "server/config/budget_yaml.h"

namespace frazil::server {

GovernanceConfig read_governance(const YamlNode& node) {
  GovernanceConfig governance;
  node.fields({{"budget", [&](const YamlNode& x) { governance.budget = read_budget(x); }},
               {"cost", [&](const YamlNode& x) { governance.cost = read_cost(x); }}});
  return governance;
}

}  // namespace frazil::server
