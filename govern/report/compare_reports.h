#pragma once

#include <string>
#include <vector>

#include "govern/base/json.h"

namespace frazil::govern {

/// Returns what differs between an approved report and another one, a line each: "+ operators: Exp" for what is new,
/// and
/// "- selections: ..." for what is missing. Digests, names of the reports and predicted times are not compared: they
/// change with weights and with the machine. Both may lack members, which then count as empty.
std::vector<std::string> differences(const Json& approved, const Json& now);

/// Returns one line about an element of `selections`: "node 'pick' (If): node 'sure' (Greater) compares x with 0.9".
std::string selection_text(const Json& selection);

}  // namespace frazil::govern
