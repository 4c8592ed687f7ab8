#include "govern/policy/review.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace frazil::govern {
namespace {

using Conjuncts = std::set<std::string>;

void collect(const Expr& expr, Conjuncts& parts) {
  if (expr.form != Form::binary || expr.text != "&&") {
    parts.insert(text_of(expr));
    return;
  }
  collect(expr.parts[0], parts);
  collect(expr.parts[1], parts);
}

/// A rule on one hook with the parts of its condition.
struct Candidate {
  const RuleSyntax* rule;
  const RuleOnHook* on;
  Conjuncts parts;
};

/// Returns whether `other` matches every input that `rule` matches.
bool covers(const Candidate& other, const Candidate& rule) {
  return other.on->always || std::ranges::includes(rule.parts, other.parts);
}

/// Returns why a rule has no effect on a hook besides `other`; empty if it is not proven.
std::string why_covered(const Candidate& rule, const Candidate& other, std::string_view hook) {
  if (&rule == &other || rule.on->never || other.on->never || other.rule->shadow || !covers(other, rule)) return {};
  if (rule.rule->permits && !other.rule->permits) {
    return fmt::format("rule '{}' cannot permit on '{}': '{}' forbids whatever it matches", rule.rule->name.text, hook,
                       other.rule->name.text);
  }
  if (rule.rule->permits != other.rule->permits || rule.rule->shadow) return {};
  const bool equal = covers(rule, other);
  if (equal && &rule < &other) return {};  // of two equal rules, the second is reported
  return fmt::format("rule '{}' has no effect on '{}': '{}' matches whatever it matches", rule.rule->name.text, hook,
                     other.rule->name.text);
}

std::vector<Candidate> candidates(const Policy& policy, Hook hook) {
  std::vector<Candidate> all;
  for (const RuleOnHook& on : policy.rules_on(hook)) {
    Candidate& made = all.emplace_back(Candidate{&policy.rules()[on.rule], &on, {}});
    if (made.rule->condition) collect(*made.rule->condition, made.parts);
  }
  return all;
}

void review_hook(const Policy& policy, Hook hook, std::vector<PolicyFinding>& findings) {
  const std::vector<Candidate> all = candidates(policy, hook);
  for (const Candidate& rule : all) {
    const SyntaxName& name = rule.rule->name;
    if (rule.on->never) {
      findings.push_back({name.at, fmt::format("rule '{}' never matches on '{}': its condition is false for every "
                                               "input",
                                               name.text, name_of(hook))});
    }
    for (const Candidate& other : all) {
      std::string why = why_covered(rule, other, name_of(hook));
      if (why.empty()) continue;
      findings.push_back({name.at, std::move(why)});
      break;
    }
  }
}

}  // namespace

std::vector<PolicyFinding> review(const Policy& policy) {
  std::vector<PolicyFinding> findings;
  for (const HookInfo& row : hooks()) review_hook(policy, row.hook, findings);
  for (const SyntaxName& name : policy.unused_constants()) {
    findings.push_back({name.at, fmt::format("constant '{}' is not used", name.text)});
  }
  std::ranges::stable_sort(findings, {}, [](const PolicyFinding& f) { return std::tuple(f.at.line, f.at.column); });
  return findings;
}

}  // namespace frazil::govern
