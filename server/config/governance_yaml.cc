#include "server/config/governance_yaml.h"

#include <set>

#include "server/config/budget_yaml.h"

namespace frazil::server {

SandboxLevel read_sandbox_level(const YamlNode& node) {
  const auto level = sandbox_level_of(node.name());
  if (!level) node.expected("none, limits, no-network or isolated");
  return *level;
}

std::vector<std::string> read_personal(const YamlNode& node) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  if (!node.is_list()) node.expected("a list of names");
  for (const YamlNode& item : node.items()) {
    names.push_back(item.name());
    if (!seen.insert(names.back()).second) item.fail("expected distinct names, got " + shown(names.back()) + " twice");
  }
  return names;
}

GovernanceConfig read_governance(const YamlNode& node) {
  GovernanceConfig governance;
  node.fields({{"budget", [&](const YamlNode& x) { governance.budget = read_budget(x); }},
               {"cost", [&](const YamlNode& x) { governance.cost = read_cost(x); }},
               {"personal", [&](const YamlNode& x) { governance.personal = read_personal(x); }},
               {"shown", [&](const YamlNode& x) { governance.shown = read_personal(x); }},
               {"keys", [&](const YamlNode& x) { governance.keys = x.name(); }},
               {"sandbox", [&](const YamlNode& x) { governance.sandbox = read_sandbox_level(x); }}});
  return governance;
}

}  // namespace frazil::server
