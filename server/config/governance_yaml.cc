#include "server/config/governance_yaml.h"

#include <set>

#include "server/config/budget_yaml.h"

namespace frazil::server {
namespace {

/// Reads "tenant" or {parameter: NAME}; returns the parameter, or "".
std::string read_subject(const YamlNode& node) {
  if (node.is_map()) {
    std::string parameter;
    node.fields({{"parameter", [&](const YamlNode& x) { parameter = x.name(); }}});
    if (parameter.empty()) node.expected("tenant or {parameter: NAME}");
    return parameter;
  }
  if (node.name() != "tenant") node.expected("tenant or {parameter: NAME}");
  return "";
}

/// Reads "plain".
Commitments read_commitments(const YamlNode& node) {
  if (node.name() != "plain") node.expected("plain");
  return Commitments::plain;
}

}  // namespace

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
               {"payloads", [&](const YamlNode& x) { governance.payloads = x.boolean(); }},
               {"share", [&](const YamlNode& x) { governance.share = x.number(0, 1); }},
               {"subject", [&](const YamlNode& x) { governance.subject_parameter = read_subject(x); }},
               {"commitments", [&](const YamlNode& x) { governance.commitments = read_commitments(x); }},
               {"sandbox", [&](const YamlNode& x) { governance.sandbox = read_sandbox_level(x); }}});
  if (governance.commitments == Commitments::plain && !governance.keys.empty()) {
    node.at("commitments").fail("the keys of 'keys' make the commitments; remove one of both");
  }
  return governance;
}

}  // namespace frazil::server
