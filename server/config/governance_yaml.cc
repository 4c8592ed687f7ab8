#include "server/config/governance_yaml.h"

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

}  // namespace

GovernanceConfig read_governance(const YamlNode& node) {
  GovernanceConfig governance;
  const auto read_commitments = [&](const YamlNode& x) {
    if (x.name() != "plain") x.expected("plain");
    governance.commitments = Commitments::plain;
  };
  node.fields({{"payloads", [&](const YamlNode& x) { governance.payloads = x.boolean(); }},
               {"share", [&](const YamlNode& x) { governance.share = x.number(0, 1); }},
               {"keys", [&](const YamlNode& x) { governance.keys = x.name(); }},
               {"subject", [&](const YamlNode& x) { governance.subject_parameter = read_subject(x); }},
               {"commitments", read_commitments}});
  if (governance.commitments == Commitments::plain && !governance.keys.empty()) {
    node.at("commitments").fail("the keys of 'keys' make the commitments; remove one of both");
  }
  return governance;
}

}  // namespace frazil::server
