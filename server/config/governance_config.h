#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/config/budget_config.h"
#include "server/config/sandbox_level.h"

// The section `governance` of the configuration file, as plain data.
namespace frazil::server {

/// Whether the audit log commits to the inputs and outputs of a request.
enum class Commitments : std::uint8_t {
  automatic,  ///< keyed if there are keys, otherwise none
  plain,      ///< by SHA-256, from which small values can be guessed
};

struct GovernanceConfig {
  std::optional<BudgetConfig> budget;  ///< of callers without a tenant
  CostConfig cost;
  /// Inputs, parameters and features with personal values, by name; "*": all. Values computed from them are personal.
  std::vector<std::string> personal;
  /// Exceptions, which may be shown: the name of a value, or "FUNCTION of NAME" in a formula. "id" and "trace" are the
  /// ids of requests and of their traces.
  std::vector<std::string> shown;
  std::string keys;               ///< folder of the keys of subjects; empty: payloads are not sealed
  bool payloads = false;          ///< the audit log records what replays need
  double share = 1;               ///< of requests whose payload is recorded
  std::string subject_parameter;  ///< request parameter that names the subject; empty: the tenant
  Commitments commitments = Commitments::automatic;
  SandboxLevel sandbox = SandboxLevel::none;  ///< least level of steps in Python

  bool operator==(const GovernanceConfig&) const = default;
};

}  // namespace frazil::server
