#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <frazil/error.h>
#include <gmock/gmock.h>

#include "govern/gate/governor.h"
#include "server/core/message.h"

// Seeded violations: what a rule forbids, tried through each door, and its sibling without the violation.
namespace frazil::test {

constexpr const char* kPermitAll =
    "permit all on file, load, edit, publish, roll_back, register, dispatch, external, run, config, admin "
    "when true reason \"usual\";\n";

/// A policy that permits all but what `forbids` says. Each has a serial above those before.
inline std::shared_ptr<const govern::Policy> all_but(const std::string& forbids) {
  static std::uint64_t serial = 0;
  const std::string head = "policy \"seeded\" serial " + std::to_string(++serial) + ";\n";
  return govern::Policy::read(head + kPermitAll + forbids, "seeded.policy");
}

/// Returns a rule of the name "seeded".
inline std::string forbid(const std::string& hook, const std::string& when) {
  return "forbid seeded on " + hook + " when " + when + " reason \"not here\";\n";
}

/// Returns "permitted", or the text of the error.
template <class F>
std::string result_of(F attempt) try {
  attempt();
  return "permitted";
} catch (const api::Error& error) {
  return error.what();
} catch (const server::Refusal& refusal) {
  return refusal.what();
}

/// One row of the suite: `violation` is what the rule forbids, `sibling` the same without the violation. Both return
/// "permitted" or the refusal.
struct Violation {
  std::string name;
  std::string rule;  ///< of forbid()
  std::function<std::string()> violation, sibling;
};

/// Expects that each violation is refused with its rule, and each sibling permitted.
inline void expect_refused(govern::Governor& governor, const std::vector<Violation>& all) {
  for (const Violation& one : all) {
    SCOPED_TRACE(one.name + ": " + one.rule);
    governor.replace(all_but(one.rule));
    EXPECT_THAT(one.violation(), testing::HasSubstr("rule 'seeded': not here"));
    EXPECT_EQ(one.sibling(), "permitted");
  }
}

}  // namespace frazil::test
