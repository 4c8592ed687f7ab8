#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "govern/base/error.h"
#include "govern/policy/policy.h"

namespace frazil::test {

using namespace govern;

/// Returns the text of an error of a call, or "no error".
std::string error_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Reads rules after the line of a policy's name: their first line is line 2.
inline std::shared_ptr<const Policy> policy_of(std::string_view rules) {
  return Policy::read("policy \"test\" serial 1;\n" + std::string(rules), "p");
}
inline std::string error_of_policy(std::string_view rules) {
  return error_of([&] { policy_of(rules); });
}
/// Reads a permit for `run` with this condition.
inline std::string error_of_condition(std::string_view condition) {
  return error_of_policy("permit r on run when\n" + std::string(condition) + "\nreason \"x\";");
}

inline Decision decide(const Policy& policy, Hook hook, std::string_view json) {
  return policy.decide(Input::from_json(hook, parse_json(json, "input"), "input"));
}

}  // namespace frazil::test
