#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "govern/base/json.h"
#include "govern/policy/policy.h"

namespace frazil::govern {

/// A question to a policy: a record of the audit log, or a line of a file.
struct Asked {
  Hook hook = Hook::run;
  Json input;
  std::uint64_t count = 1;  ///< of equal questions
};

/// Reads {"hook", "input", "count"?}. Throws Code::bad_input; `what` names the record in errors.
Asked asked_of(const Json& record, std::string_view what);

/// A question that two policies answer differently.
struct DecisionChange {
  std::size_t index = 0;  ///< of the question
  Decision before, after;
};

/// Asks both policies each question and returns those where one permits and the other denies, and those where only one
/// could decide. The decisions refer to the policies. Throws Code::bad_input for an input that does not fit its hook.
std::vector<DecisionChange> compare(const Policy& before, const Policy& after, std::span<const Asked> questions);

}  // namespace frazil::govern
