// Reads bytes as a policy. If the first byte is even, the rest is a whole file, else the condition of a rule for each
// hook. An error has one line. A policy that can be read decides on inputs without fields and on its own cases, within
// its cost: it never runs out of steps.
#include <cstdint>
#include <string>

#include <frazil/error.h>

#include "govern/policy/cases.h"
#include "govern/policy/policy.h"
#include "govern/policy/review.h"
#include "require.h"

namespace frazil::fuzz {
namespace {

void require_decided(const govern::Policy& policy, const govern::Input& input) {
  const govern::Decision decision = policy.decide(input);
  require(decision.error.find("steps") == std::string::npos, "more steps than the cost");
  require(!decision.permits() || !decision.rule.empty(), "a permit without a rule");
  const bool same = policy.decide(input).cause == decision.cause;
  require(same, "two decisions on one input differ");
  for (const govern::RuleResult& result : policy.explain(input)) {
    require((result.outcome == govern::Outcome::error) == !result.error.empty(), "an error without a text");
  }
  // A decision that ends early never permits.
  if (!decision.permits()) require(!policy.decide(input, {.max_steps = 1}).permits(), "a permit after one step");
}

void read(const std::string& text) {
  const auto policy = govern::Policy::read(text, "p");
  (void)govern::review(*policy);
  (void)govern::run_cases(*policy);
  for (const govern::HookInfo& row : govern::hooks()) require_decided(*policy, govern::Input(row.hook));
  for (const govern::CaseSyntax& test : policy->cases()) {
    const auto hook = govern::hook_named(test.hook.text);
    require_decided(*policy, govern::Input::from_json(hook.value(), test.input, "input"));
  }
}

void require_line(std::string_view line) {
  require(line.starts_with("p:"), "a message without a place: {}", line);
  for (const char c : line) {
    require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "a message of several lines: {}", line);
  }
}

/// Requires that an error is fit for users.
void require_told(const api::Error& error) {
  require(error.code() == api::Code::bad_input || error.code() == api::Code::limit, "another code: {}", error.what());
  require_line(error.what());
}

void read_condition(std::string_view condition) {
  for (const govern::HookInfo& row : govern::hooks()) {
    try {
      read("policy \"p\" serial 1;\npermit r on " + std::string(row.name) + " when\n" + std::string(condition) +
           "\nreason \"x\";");
    } catch (const api::Error& error) {
      require_told(error);  // its fields may be those of another hook
    }
  }
}

}  // namespace
}  // namespace frazil::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    data[0] % 2 == 0 ? frazil::fuzz::read(text) : frazil::fuzz::read_condition(text);
  } catch (const frazil::api::Error& error) {
    frazil::fuzz::require_told(error);
  }
  return 0;
}
