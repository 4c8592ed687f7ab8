#include "govern/policy/cases.h"

#include <fmt/format.h>

namespace frazil::govern {
namespace {

Expectation kind_of(Cause cause) {
  switch (cause) {
    case Cause::permitted: return Expectation::permit;
    case Cause::forbidden:
    case Cause::no_rule: return Expectation::deny;
    case Cause::could_not_decide: break;
  }
  return Expectation::error;
}

std::string text_of(const CaseSyntax& test) {
  constexpr const char* kNames[] = {"permit", "deny", "error"};
  const std::string by = test.rule ? fmt::format(" by '{}'", test.rule->text) : std::string();
  return kNames[static_cast<std::size_t>(test.expectation)] + by;
}

}  // namespace

std::string summary_of(const Decision& decision) {
  std::string text(name_of(decision.cause));
  if (decision.cause != Cause::could_not_decide) {
    return decision.rule.empty() ? text : fmt::format("{} by '{}'", text, decision.rule);
  }
  return decision.rule.empty() ? fmt::format("{}: {}", text, decision.error)
                               : fmt::format("{}: rule '{}', {}", text, decision.rule, decision.error);
}

std::vector<CaseResult> run_cases(const Policy& policy) {
  std::vector<CaseResult> results;
  for (const CaseSyntax& test : policy.cases()) {
    const Input input = Input::from_json(hook_named(test.hook.text).value(), test.input, "input");
    const Decision decision = policy.decide(input);
    const bool passed = kind_of(decision.cause) == test.expectation && (!test.rule || test.rule->text == decision.rule);
    results.push_back(
        {&test, passed ? std::string() : fmt::format("expected {}, got {}", text_of(test), summary_of(decision))});
  }
  return results;
}

}  // namespace frazil::govern
