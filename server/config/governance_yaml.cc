#include "server/config/governance_yaml.h"

namespace frazil::server {

SandboxLevel read_sandbox_level(const YamlNode& node) {
  const auto level = sandbox_level_of(node.name());
  if (!level) node.expected("none, limits, no-network or isolated");
  return *level;
}

GovernanceConfig read_governance(const YamlNode& node) {
  GovernanceConfig governance;
  node.fields({{"sandbox", [&](const YamlNode& x) { governance.sandbox = read_sandbox_level(x); }}});
  return governance;
}

}  // namespace frazil::server
