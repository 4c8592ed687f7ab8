#pragma once

#include <cstdint>
#include <string>

// The section `governance` of the configuration file, as plain data.
namespace frazil::server {

/// Whether the audit log commits to the inputs and outputs of a request.
enum class Commitments : std::uint8_t {
  automatic,  ///< keyed if there are keys, otherwise none
  plain,      ///< by SHA-256, from which small values can be guessed
};

struct GovernanceConfig {
  bool payloads = false;          ///< the audit log records what replays need
  double share = 1;               ///< of requests whose payload is recorded
  std::string keys;               ///< folder of the keys of subjects; empty: payloads are not sealed
  std::string subject_parameter;  ///< request parameter that names the subject; empty: the tenant
  Commitments commitments = Commitments::automatic;

  bool operator==(const GovernanceConfig&) const = default;
};

}  // namespace frazil::server
