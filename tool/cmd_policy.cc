#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <frazil/error.h>

#include "govern/audit/event.h"
#include "govern/base/file.h"
#include "govern/base/json.h"
#include "govern/gate/policy_diff.h"
#include "govern/policy/cases.h"
#include "govern/policy/compare.h"
#include "govern/policy/policy.h"
#include "govern/policy/review.h"
#include "tool/commands.h"
#include "tool/common.h"
#include "tool/option_table.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

using govern::Policy;

constexpr std::uint64_t kMostInput = 64 << 20, kMostDecisions = 1 << 30;

struct PolicyOptions {
  std::string file, other, hook, input, decisions, log, from, to;
  bool json = false, markdown = false;
};

void print_governed(const govern::Json& json) { print_json(Json(json)); }

std::string place_text(const Policy& policy, govern::Place at) {
  return fmt::format("{}:{}:{}", policy.file(), at.line, at.column);
}

govern::Json json_of_rule(const Policy& policy, const govern::RuleOnHook& on, govern::Hook hook) {
  const govern::RuleSyntax& rule = policy.rules()[on.rule];
  return {{"rule", rule.name.text},
          {"hook", govern::name_of(hook)},
          {"effect", rule.permits ? "permit" : "forbid"},
          {"mode", rule.shadow ? "shadow" : "enforce"},
          {"line", rule.name.at.line},
          {"cost", on.cost},
          {"reads_request", on.reads_request}};
}

govern::Json json_of_policy(const Policy& policy) {
  govern::Json json = {{"name", policy.name()}, {"serial", policy.serial()}, {"digest", policy.digest()}};
  if (policy.until()) json["until"] = *policy.until();
  return json;
}

int check_policy(const PolicyOptions& options) {
  const auto policy = Policy::read_file(options.file);
  const std::vector<govern::PolicyFinding> findings = govern::review(*policy);
  govern::Json json = json_of_policy(*policy);
  json["rules"] = govern::Json::array();
  json["findings"] = govern::Json::array();
  for (const govern::HookInfo& row : govern::hooks()) {
    for (const govern::RuleOnHook& on : policy->rules_on(row.hook)) {
      json["rules"].push_back(json_of_rule(*policy, on, row.hook));
      if (options.json) continue;
      const govern::RuleSyntax& rule = policy->rules()[on.rule];
      print_line(fmt::format("{:<9}  {:<6}  {:<24}  cost {:.0f} of {:.0f}{}{}", row.name,
                             rule.permits ? "permit" : "forbid", rule.name.text, on.cost, row.budget,
                             rule.shadow ? ", shadow" : "", on.reads_request ? ", asked for each request" : ""));
    }
  }
  for (const govern::PolicyFinding& finding : findings) {
    json["findings"].push_back({{"line", finding.at.line}, {"column", finding.at.column}, {"text", finding.text}});
    if (!options.json) print_line(fmt::format("{}: {}", place_text(*policy, finding.at), finding.text));
  }
  if (options.json) {
    print_governed(json);
  } else {
    print_line(fmt::format("policy \"{}\", serial {}, {} rules, {} cases, {} findings, {}", policy->name(),
                           policy->serial(), policy->rules().size(), policy->cases().size(), findings.size(),
                           policy->digest()));
  }
  return findings.empty() ? kDone : kFailed;
}

int test_policy(const PolicyOptions& options) {
  const auto policy = Policy::read_file(options.file);
  if (policy->cases().empty()) fail(Code::bad_input, "{}: the policy has no cases", options.file);
  std::size_t failed = 0;
  govern::Json failures = govern::Json::array();
  const std::vector<govern::CaseResult> results = govern::run_cases(*policy);
  for (const govern::CaseResult& result : results) {
    if (result.difference.empty()) continue;
    ++failed;
    const govern::CaseSyntax& test = *result.test;
    failures.push_back({{"case", test.name}, {"line", test.at.line}, {"difference", result.difference}});
    if (!options.json) {
      print_line(fmt::format("{}: case \"{}\": {}", place_text(*policy, test.at), test.name, result.difference));
    }
  }
  if (options.json) {
    print_governed({{"passed", results.size() - failed}, {"failed", failed}, {"failures", failures}});
  } else {
    print_line(fmt::format("{} passed, {} failed", results.size() - failed, failed));
  }
  return failed == 0 ? kDone : kFailed;
}

govern::Hook hook_of(const std::string& name) {
  const auto hook = govern::hook_named(name);
  if (!hook) fail(Code::bad_input, "--hook: there is no hook '{}'; see 'frazil policy hooks'", name);
  return *hook;
}

/// Returns the object in the option itself, or in the file that it names.
govern::Json input_of(const std::string& option) {
  if (option.starts_with('{')) return govern::parse_json(option, "--input");
  return govern::parse_json(govern::read_file(option, kMostInput), fmt::format("file '{}'", option));
}

int explain_policy(const PolicyOptions& options) {
  const auto policy = Policy::read_file(options.file);
  const govern::Input input = govern::Input::from_json(hook_of(options.hook), input_of(options.input), "input");
  const govern::Decision decision = policy->decide(input);
  govern::Json json = govern::to_json(decision);
  json["rules"] = govern::Json::array();
  for (const govern::RuleResult& result : policy->explain(input)) {
    const govern::RuleSyntax& rule = policy->rules()[result.rule];
    govern::Json row = {{"rule", rule.name.text},
                        {"effect", rule.permits ? "permit" : "forbid"},
                        {"mode", rule.shadow ? "shadow" : "enforce"},
                        {"line", rule.name.at.line},
                        {"outcome", govern::name_of(result.outcome)}};
    if (!result.error.empty()) row["error"] = result.error;
    json["rules"].push_back(row);
    if (options.json) continue;
    print_line(fmt::format("{:<8}  {}  {}{}, line {}{}", govern::name_of(result.outcome),
                           rule.permits ? "permit" : "forbid", rule.name.text, rule.shadow ? " (shadow)" : "",
                           rule.name.at.line, result.error.empty() ? "" : "; " + result.error));
  }
  if (options.json) {
    print_governed(json);
  } else {
    print_line(fmt::format("{}: {}{}", decision.permits() ? "permit" : "deny", govern::summary_of(decision),
                           decision.reason.empty() ? "" : fmt::format(": {}", decision.reason)));
  }
  return kDone;
}

std::vector<govern::Asked> questions_of_file(const std::string& path) {
  std::istringstream lines(govern::read_file(path, kMostDecisions));
  std::vector<govern::Asked> questions;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string what = fmt::format("{}:{}", path, number);
    questions.push_back(govern::asked_of(govern::parse_json(line, what), what));
  }
  return questions;
}

/// Returns a time of an option, in milliseconds since 1970: a date, or a time with milliseconds.
std::optional<std::int64_t> time_of_option(const std::string& text, const char* name) {
  if (text.empty()) return std::nullopt;
  const auto time = govern::parse_time(text.size() == 10 ? text + "T00:00:00.000Z" : text);
  if (!time) fail(Code::bad_input, "{} {}: expected a date or a time like 2026-01-31T23:59:59.000Z", name, text);
  return time;
}

void print_group(const govern::PolicyDiff::Group& group) {
  print_line(fmt::format("{} on {}: {} -> {}; {} inputs, {} events, {} requests; entries {}", name_of(group.change),
                         govern::name_of(group.hook), group.before, group.after, group.inputs, group.events,
                         group.requests, fmt::join(group.entries, ", ")));
}

govern::Json json_of_group(const govern::PolicyDiff::Group& group) {
  return {{"change", name_of(group.change)}, {"hook", govern::name_of(group.hook)},
          {"before", group.before},          {"after", group.after},
          {"inputs", group.inputs},          {"events", group.events},
          {"requests", group.requests},      {"entries", group.entries}};
}

int diff_on_log(const PolicyOptions& options, const Policy& before, const Policy& after) {
  const govern::PolicyDiff diff = govern::diff_on_log(
      before, after,
      {.log = options.log, .from = time_of_option(options.from, "--from"), .to = time_of_option(options.to, "--to")});
  govern::Json groups = govern::Json::array();
  for (const auto& group : diff.groups) {
    groups.push_back(json_of_group(group));
    if (!options.json) print_group(group);
  }
  if (options.json) {
    print_governed({{"inputs", diff.inputs},
                    {"events", diff.events},
                    {"requests", diff.requests},
                    {"without_input", diff.without_input},
                    {"unreadable", diff.unreadable},
                    {"changes", groups}});
  } else {
    print_line(
        fmt::format("{} inputs of {} events and {} requests were decided again; {} without a kept input, {} inputs "
                    "do not fit this build",
                    diff.inputs, diff.events, diff.requests, diff.without_input, diff.unreadable));
  }
  return diff.differs() ? kFailed : kDone;
}

int diff_policies(const PolicyOptions& options) {
  const auto before = Policy::read_file(options.file), after = Policy::read_file(options.other);
  if (!options.log.empty()) return diff_on_log(options, *before, *after);
  if (!options.from.empty() || !options.to.empty()) fail(Code::bad_input, "--from and --to need --log");
  const std::vector<govern::Asked> questions = questions_of_file(options.decisions);
  govern::Json list = govern::Json::array();
  std::uint64_t asked = 0, changed = 0;
  for (const govern::Asked& question : questions) asked += question.count;
  for (const govern::DecisionChange& change : govern::compare(*before, *after, questions)) {
    const govern::Asked& question = questions[change.index];
    changed += question.count;
    list.push_back({{"index", change.index},
                    {"count", question.count},
                    {"hook", govern::name_of(question.hook)},
                    {"before", govern::to_json(change.before)},
                    {"after", govern::to_json(change.after)}});
    if (options.json) continue;
    print_line(fmt::format("question {} on {}, {} times: {} -> {}", change.index, govern::name_of(question.hook),
                           question.count, govern::summary_of(change.before), govern::summary_of(change.after)));
  }
  if (options.json) {
    print_governed({{"asked", asked}, {"changed", changed}, {"changes", list}});
  } else {
    print_line(fmt::format("{} of {} decisions change", changed, asked));
  }
  return changed == 0 ? kDone : kFailed;
}

govern::Json json_of_record(const govern::RecordType& record) {
  govern::Json fields = govern::Json::array();
  for (const govern::Field& field : record.fields) {
    govern::Json row = {{"name", field.name},
                        {"type", govern::bounded_name_of(field.type)},
                        {"doc", field.doc},
                        {"optional", field.optional},
                        {"per_request", field.per_request}};
    const govern::ValueType* part = field.type.element == nullptr ? &field.type : field.type.element;
    if (part->record != nullptr) row["fields"] = json_of_record(*part->record);
    fields.push_back(row);
  }
  return fields;
}

int list_hooks(const PolicyOptions& options) {
  if (options.markdown) {
    print_text(govern::hooks_markdown());
    return kDone;
  }
  govern::Json list = govern::Json::array();
  for (const govern::HookInfo& row : govern::hooks()) {
    list.push_back(
        {{"name", row.name}, {"doc", row.doc}, {"budget", row.budget}, {"fields", json_of_record(row.record)}});
    if (!options.json) print_line(fmt::format("{:<9}  {}: {}", row.name, row.doc, row.record.field_names()));
  }
  if (options.json) print_governed({{"hooks", list}});
  return kDone;
}

using Act = int (*)(const PolicyOptions&);

/// Adds a command of 'frazil policy' with its --json.
CLI::App* add_part(CLI::App& policy, const std::shared_ptr<PolicyOptions>& options, Action& action, const char* name,
                   const char* doc, Act act) {
  CLI::App* command = policy.add_subcommand(name, doc);
  command->footer("");  // it would be that of 'frazil'
  command->add_flag("--json", options->json, "Write one JSON object, alone on the last line of stdout")
      ->group(group::kOutput);
  command->callback([options, act, &action] { action = [options, act] { return act(*options); }; });
  return command;
}

void add_explain(CLI::App& policy, const std::shared_ptr<PolicyOptions>& options, Action& action) {
  CLI::App* command =
      add_part(policy, options, action, "explain",
               "Print which rules match an input, which have an error, and the decision", explain_policy);
  command->add_option("FILE", options->file, "A policy")->required();
  command->option_defaults()->group(group::kInputs);
  command->add_option("--hook", options->hook, "The hook: see 'frazil policy hooks'")->type_name("HOOK")->required();
  command->add_option("--input", options->input, "A file of the hook's record as JSON, or the record itself")
      ->type_name("FILE")
      ->required();
}

void add_diff(CLI::App& policy, const std::shared_ptr<PolicyOptions>& options, Action& action) {
  CLI::App* command =
      add_part(policy, options, action, "diff", "List the decisions that another policy changes", diff_policies);
  command->add_option("OLD", options->file, "The policy in force")->required();
  command->add_option("NEW", options->other, "The other policy")->required();
  CLI::App* source = command->add_option_group("", "");
  source
      ->add_option("--decisions", options->decisions, "What was asked: JSON lines of {\"hook\", \"input\", \"count\"}")
      ->type_name("FILE")
      ->group(group::kInputs);
  source->add_option("--log", options->log, "The folder of an audit log")->type_name("DIR")->group(group::kInputs);
  source->require_option(1);
  command->add_option("--from", options->from, "Only events of the log from this date or time on (UTC)")
      ->type_name("TIME")
      ->group(group::kInputs);
  command->add_option("--to", options->to, "Only events of the log before this date or time (UTC)")
      ->type_name("TIME")
      ->group(group::kInputs);
  command->footer(
      "With --log each input that the log has kept is decided again under both policies. A decision is undetermined if "
      "a "
      "rule reads a field that differs between requests, which the log does not keep. Exit code 1: a decision "
      "changes.");
}

}  // namespace

void add_policy(CLI::App& app, Action& action) {
  auto options = std::make_shared<PolicyOptions>();
  CLI::App* policy = app.add_subcommand("policy", "Check, test and explain policies");
  policy->require_subcommand(1);
  add_part(*policy, options, action, "check", "Check types and costs, and list rules without effect", check_policy)
      ->add_option("FILE", options->file, "A policy")
      ->required();
  add_part(*policy, options, action, "test", "Run the cases of a policy", test_policy)
      ->add_option("FILE", options->file, "A policy")
      ->required();
  add_explain(*policy, options, action);
  add_diff(*policy, options, action);
  add_part(*policy, options, action, "hooks", "List the hooks and what a policy is asked with", list_hooks)
      ->add_flag("--markdown", options->markdown, "The page of the documentation")
      ->group(group::kOutput)
      ->excludes("--json");
  policy->footer(
      "Exit codes: 1 if a rule or constant has no effect, a case fails, or a decision changes; 2 if a policy cannot be "
      "read.\n\n"
      "Examples:\n"
      "  frazil policy check models.policy\n"
      "  frazil policy explain models.policy --hook run --input '{\"tenant\": \"acme\"}'");
}

}  // namespace frazil::tool
