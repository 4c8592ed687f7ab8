#include "govern/policy/reader.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "govern/base/digest.h"
#include "govern/base/file.h"
#include "govern/policy/lexer.h"
#include "govern/policy/parser.h"
#include "govern/policy/shown.h"

namespace frazil::govern {
namespace {

/// Reads the digits of text[at, at + count).
int digits_at(std::string_view text, std::size_t at, std::size_t count) {
  int number = 0;
  for (const char c : text.substr(at, count)) number = c < '0' || c > '9' ? -10000 : number * 10 + (c - '0');
  return number;
}

/// Reads "2027-06-30T00:00:00Z", the form of RFC 3339 without a fraction and in UTC.
std::optional<std::int64_t> seconds_of(std::string_view text) {
  using namespace std::chrono;
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  if (text.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == '0' ? !digit : text[i] != kForm[i]) return std::nullopt;
  }
  const auto part = [&](std::size_t at) { return digits_at(text, at, 2); };
  const year_month_day date(year(digits_at(text, 0, 4)), month(static_cast<unsigned>(part(5))),
                            day(static_cast<unsigned>(part(8))));
  if (!date.ok() || part(11) > 23 || part(14) > 59 || part(17) > 59) return std::nullopt;
  const auto time = sys_days(date) + hours(part(11)) + minutes(part(14)) + seconds(part(17));
  return duration_cast<seconds>(time.time_since_epoch()).count();
}

const Layout& no_fields() {
  static const RecordType record = {"constants", {}};
  static const Layout layout(record);
  return layout;
}

std::string hook_names() {
  std::string names;
  for (const HookInfo& row : hooks()) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

Hook hook_of(const SyntaxName& name, std::string_view file) {
  if (const auto hook = hook_named(name.text)) return *hook;
  fail_at(file, name.at, "there is no hook '{}'; the hooks are {}", name.text, hook_names());
}

}  // namespace

PolicyReader::PolicyReader(std::string_view text, std::string_view file) : policy_(new Policy) {
  policy_->file_ = file;
  policy_->syntax_ = parse_policy(text, file);
  policy_->digest_ = digest_text(sha256(text));
}

std::shared_ptr<const Policy> PolicyReader::read(std::optional<std::int64_t> until) && {
  read_until();
  if (until) policy_->until_ = std::min(*until, policy_->until_.value_or(*until));
  read_constants();
  read_rules();
  check_totals();
  check_cases();
  return std::move(policy_);
}

void PolicyReader::read_until() {
  const auto& until = policy_->syntax_.until;
  if (!until) return;
  policy_->until_ = seconds_of(until->text);
  if (!policy_->until_) fail_at(policy_->file_, until->at, "expected a time such as \"2027-06-30T00:00:00Z\"");
}

void PolicyReader::read_constants() {
  for (const ConstantSyntax& syntax : policy_->syntax_.constants) {
    const SyntaxName& name = syntax.name;
    for (const HookInfo& row : hooks()) {
      if (!row.record.find(name.text)) continue;
      fail_at(policy_->file_, name.at, "the constant '{}' has the name of a field of hook '{}'", name.text, row.name);
    }
    const Compiled value = compile(syntax.value, {policy_->program_, constants_, no_fields(), policy_->file_,
                                                  fmt::format("constant '{}': ", name.text)});
    const PolicyNode& node = policy_->program_.nodes[value.node];
    if (node.op != Op::constant) {
      fail_at(policy_->file_, syntax.value.at, "constant '{}': the expression is an error or too costly", name.text);
    }
    if (!constants_.try_emplace(name.text, value.type, policy_->program_.constants[node.a], name.at).second) {
      fail_at(policy_->file_, name.at, "there are two constants '{}'", name.text);
    }
  }
}

void PolicyReader::read_rules() {
  std::set<std::string_view> names;
  for (std::uint32_t i = 0; i < policy_->syntax_.rules.size(); ++i) {
    const SyntaxName& name = policy_->syntax_.rules[i].name;
    if (!names.insert(name.text).second) fail_at(policy_->file_, name.at, "there are two rules '{}'", name.text);
    policy_->has_shadow_ |= policy_->syntax_.rules[i].shadow;
    read_rule(i);
  }
  for (const auto& [name, constant] : constants_) {
    if (!constant.used) policy_->unused_.push_back({name, constant.at});
  }
}

void PolicyReader::read_rule(std::uint32_t index) {
  std::set<std::string_view> names;
  for (const SyntaxName& hook : policy_->syntax_.rules[index].hooks) {
    if (!names.insert(hook.text).second) fail_at(policy_->file_, hook.at, "hook '{}' is named twice", hook.text);
    add(index, hook);
  }
}

void PolicyReader::add(std::uint32_t index, const SyntaxName& hook_name) {
  const RuleSyntax& rule = policy_->syntax_.rules[index];
  const std::string& file = policy_->file_;
  const Hook hook = hook_of(hook_name, file);
  PolicyProgram& program = policy_->program_;
  RuleOnHook made = {.rule = index};
  if (!rule.condition) {
    made.node =
        program.add({Op::constant, ValueKind::boolean, program.add_constant(Value::of(true)), 0, 0, rule.name.at});
  } else {
    const std::string context = fmt::format("rule '{}', hook '{}': ", rule.name.text, hook_name.text);
    const Compiled condition = compile(*rule.condition, {program, constants_, Layout::of(hook), file, context});
    const Place at = rule.condition->at;
    if (condition.type.kind != ValueKind::boolean) {
      fail_at(file, at, "{}the condition is {}, not bool", context, name_of(condition.type));
    }
    if (condition.fails) fail_at(file, at, "{}the condition is an error for every input", context);
    if (condition.cost > info_of(hook).budget) {
      fail_at(file, at,
              "{}the worst case costs {:.0f} units, and {:.0f} are allowed; test the sizes of fewer lists or "
              "nest fewer macros",
              context, condition.cost, info_of(hook).budget);
    }
    made.node = condition.node;
    made.cost = condition.cost;
    made.reads_request = condition.reads_request;
    made.tests_request = condition.tests_request;
  }
  const PolicyNode& node = program.nodes[made.node];
  made.always = node.op == Op::constant && program.constants[node.a].boolean;
  made.never = node.op == Op::constant && !made.always;
  policy_->on_hook_[static_cast<std::size_t>(hook)].push_back(made);
}

void PolicyReader::check_totals() {
  for (const HookInfo& row : hooks()) {
    const auto hook = static_cast<std::size_t>(row.hook);
    double total = 1;
    for (const RuleOnHook& rule : policy_->on_hook_[hook]) {
      total += rule.cost + 1;
      policy_->reads_request_[hook] |= rule.reads_request;
    }
    if (total > kRulesPerBudget * row.budget) {
      fail(Code::bad_input, "{}: the rules of hook '{}' cost {:.0f} units together, and {:.0f} are allowed",
           policy_->file_, row.name, total, kRulesPerBudget * row.budget);
    }
    policy_->max_steps_[hook] = static_cast<std::uint64_t>(total);
  }
}

void PolicyReader::check_cases() const {
  const auto& rules = policy_->syntax_.rules;
  for (const CaseSyntax& test : policy_->syntax_.cases) {
    const Hook hook = hook_of(test.hook, policy_->file_);
    const auto what =
        fmt::format("{}:{}:{}: case \"{}\"", policy_->file_, test.at.line, test.at.column, shown(test.name));
    (void)Input::from_json(hook, test.input, what);
    if (test.rule && std::ranges::none_of(rules, [&](const RuleSyntax& r) { return r.name.text == test.rule->text; })) {
      fail_at(policy_->file_, test.rule->at, "there is no rule '{}'", test.rule->text);
    }
  }
}

std::shared_ptr<const Policy> Policy::read(std::string_view text, std::string_view file,
                                           std::optional<std::int64_t> until) {
  return PolicyReader(text, file).read(until);
}

std::shared_ptr<const Policy> Policy::read_file(const std::string& path) {
  return read(govern::read_file(path, kMaxPolicyBytes), path);
}

}  // namespace frazil::govern
