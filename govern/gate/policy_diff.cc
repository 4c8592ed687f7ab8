#include "govern/gate/policy_diff.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

#include "govern/audit/blobs.h"
#include "govern/audit/entry_scan.h"
#include "govern/audit/event.h"
#include "govern/audit/log_reader.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

constexpr std::size_t kMostExamples = 5;

/// The rules of a hook whose results matter, by their indices in Policy::rules(); nullopt: there is none. `unknown`
/// rules read a field that is absent because it differs between requests.
struct KnownRules {
  std::optional<std::uint32_t> forbid, forbid_error, forbid_unknown, permit, permit_error, permit_unknown;

  KnownRules(const Policy& policy, const Input& input) {
    const auto rules_on = policy.rules_on(input.hook().value());
    const std::vector<RuleResult> results = policy.explain(input);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (policy.rules()[results[i].rule].shadow) continue;
      count(rules_on[i], results[i].outcome, policy.rules()[results[i].rule].permits);
    }
  }

 private:
  void count(const RuleOnHook& on, Outcome outcome, bool permits) {
    const bool unknown = on.reads_request && (outcome == Outcome::error || on.tests_request);
    if (!unknown && outcome == Outcome::no_match) return;
    auto& first = unknown                     ? (permits ? permit_unknown : forbid_unknown)
                  : outcome == Outcome::error ? (permits ? permit_error : forbid_error)
                                              : (permits ? permit : forbid);
    if (!first) first = on.rule;
  }
};

std::string quoted_rule(const Policy& policy, std::uint32_t rule) {
  return fmt::format("'{}'", policy.rules()[rule].name.text);
}

KnownDecision by_request(const Policy& policy, std::uint32_t rule) {
  return {std::nullopt, "depends on the request: " + quoted_rule(policy, rule), false};
}

/// Decides for the case that no forbid with an unknown result matches.
KnownDecision without_unknown_forbids(const Policy& policy, const KnownRules& rules) {
  const auto failed = [&](std::uint32_t rule) {
    return KnownDecision{false, "could not decide: " + quoted_rule(policy, rule) + " failed"};
  };
  if (rules.forbid_error) return failed(*rules.forbid_error);
  if (rules.permit) {
    const bool first = !rules.permit_unknown || *rules.permit < *rules.permit_unknown;
    return {true, "permitted by " + quoted_rule(policy, *rules.permit), first};
  }
  if (rules.permit_unknown) return by_request(policy, *rules.permit_unknown);
  if (rules.permit_error) return failed(*rules.permit_error);
  return {false, "no rule matched"};
}

/// The events that refer to an input.
struct Referred {
  std::uint64_t events = 0, requests = 0;
  std::vector<std::uint64_t> entries;
};

/// The inputs that the events of a log refer to, by digest.
struct ReferredInputs {
  std::map<std::string, Referred, std::less<>> by_digest;
  std::uint64_t without_input = 0;

  void add(std::uint64_t index, const std::string& entry) {
    if (!scan_.read(entry)) fail(Code::bad_input, "entry {}: expected an object in canonical JSON", index);
    const bool request = scan_.member("kind") == "\"request\"";
    std::string_view digest = scan_.member("decision");
    if (digest.size() > 2) digest = digest.substr(1, digest.size() - 2);
    if (!is_digest_text(digest)) {
      without_input += request ? 1 : 0;
      return;
    }
    auto at = by_digest.find(digest);
    if (at == by_digest.end()) at = by_digest.emplace(digest, Referred()).first;
    ++(request ? at->second.requests : at->second.events);
    if (at->second.entries.size() < kMostExamples) at->second.entries.push_back(index);
  }

 private:
  EntryScan scan_;
};

std::optional<PolicyDiff::Change> change_of(const KnownDecision& before, const KnownDecision& after) {
  using Change = PolicyDiff::Change;
  if (!before.permits || !after.permits) return Change::undetermined;
  if (*before.permits != *after.permits) {
    return *before.permits ? Change::permitted_to_denied : Change::denied_to_permitted;
  }
  const bool other = before.rule_is_known && after.rule_is_known && before.text != after.text;
  return other ? std::optional(Change::other_rule) : std::nullopt;
}

/// Decides inputs again, and groups those whose decision changes.
class LogComparison {
 public:
  LogComparison(const Policy& before, const Policy& after) : before_(before), after_(after) {}

  void add(const Input& input, const Referred& referred) {
    const Hook hook = input.hook().value();
    const KnownDecision before = decide_kept(before_, input), after = decide_kept(after_, input);
    const auto change = before_.digest() == after_.digest() ? std::nullopt : change_of(before, after);
    if (!change) return;
    auto& group = groups_[{*change, hook, before.text, after.text}];
    group.change = *change;
    group.hook = hook;
    group.before = before.text;
    group.after = after.text;
    ++group.inputs;
    group.events += referred.events;
    group.requests += referred.requests;
    for (const std::uint64_t entry : referred.entries) group.entries.push_back(entry);
  }
  std::vector<PolicyDiff::Group> groups() && {
    std::vector<PolicyDiff::Group> list;
    for (auto& [key, group] : groups_) {
      std::ranges::sort(group.entries);
      group.entries.resize(std::min(group.entries.size(), kMostExamples));
      list.push_back(std::move(group));
    }
    const auto order = [](const PolicyDiff::Group& g) { return std::tuple(g.change, ~g.requests, ~g.events); };
    std::ranges::stable_sort(list, {}, order);
    return list;
  }

 private:
  const Policy& before_;
  const Policy& after_;
  std::map<std::tuple<PolicyDiff::Change, Hook, std::string, std::string>, PolicyDiff::Group> groups_;
};

/// Returns a kept input, or nullopt if this build has other fields.
std::optional<Input> kept_input_of(const std::string& folder, const std::string& digest) {
  const std::string what = "blob '" + digest + "'";
  Json kept = parse_json(get_blob(folder, digest), what);
  const auto hook = hook_named(text_member(kept, "hook", what));
  if (!hook) return std::nullopt;
  try {
    return Input::from_json(*hook, std::move(kept["input"]), what);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

KnownDecision decide_kept(const Policy& policy, const Input& input) {
  const KnownRules rules(policy, input);
  if (rules.forbid) {
    const bool first = !rules.forbid_unknown || *rules.forbid < *rules.forbid_unknown;
    return {false, "forbidden by " + quoted_rule(policy, *rules.forbid), first};
  }
  KnownDecision decision = without_unknown_forbids(policy, rules);
  if (!rules.forbid_unknown) return decision;
  if (decision.permits.value_or(true)) return by_request(policy, *rules.forbid_unknown);
  decision.rule_is_known = false;
  return decision;
}

std::string_view name_of(PolicyDiff::Change change) {
  constexpr std::string_view kNames[] = {"permitted to denied", "denied to permitted", "other rule", "undetermined"};
  return kNames[static_cast<std::size_t>(change)];
}

bool PolicyDiff::differs() const {
  return std::ranges::any_of(groups, [](const Group& group) { return group.change != Change::undetermined; });
}

PolicyDiff diff_on_log(const Policy& before, const Policy& after, const PolicyDiffOptions& options) {
  ReferredInputs referred;
  read_log(options.log, {.kinds = {}, .tenant = {}, .from = options.from, .to = options.to},
           [&](std::uint64_t index, const std::string& entry) { referred.add(index, entry); });
  PolicyDiff diff;
  diff.without_input = referred.without_input;
  LogComparison comparison(before, after);
  for (const auto& [digest, events] : referred.by_digest) {
    if (!std::filesystem::exists(blob_path(options.log, digest))) {
      diff.without_input += events.requests + events.events;
      continue;
    }
    const auto input = kept_input_of(options.log, digest);
    if (!input) {
      ++diff.unreadable;
      continue;
    }
    ++diff.inputs;
    diff.events += events.events;
    diff.requests += events.requests;
    comparison.add(*input, events);
  }
  diff.groups = std::move(comparison).groups();
  return diff;
}

}  // namespace frazil::govern
