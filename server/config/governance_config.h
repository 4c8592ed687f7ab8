#pragma once

#include <string>
#include <vector>

// The section `governance` of the configuration file, as plain data.
namespace frazil::server {

struct GovernanceConfig {
  /// Inputs, parameters and features with personal values, by name; "*": all. Values computed from them are personal.
  std::vector<std::string> personal;
  /// Exceptions, which may be shown: the name of a value, or "FUNCTION of NAME" in a formula. "id" and "trace" are the
  /// ids of requests and of their traces.
  std::vector<std::string> shown;
  std::string keys;  ///< folder with the keys of subjects; empty: none

  bool operator==(const GovernanceConfig&) const = default;
};

}  // namespace frazil::server
