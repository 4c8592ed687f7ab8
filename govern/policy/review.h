#pragma once

#include <string>
#include <vector>

#include "govern/policy/policy.h"

namespace frazil::govern {

/// Something in a policy that has no effect.
struct PolicyFinding {
  Place at;
  std::string text;
};

/// Returns, in the order of the text: rules that never match, rules whose effect another rule has in every case, and
/// constants without uses. A rule is proven to be covered if its condition is a conjunction that contains all parts of
/// the other's; what needs more than that is not found.
std::vector<PolicyFinding> review(const Policy& policy);

}  // namespace frazil::govern
