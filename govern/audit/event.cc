#include "govern/audit/event.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "govern/base/encoding.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

using enum MemberType;

constexpr bool kRequired = true, kOptional = false;

constexpr MemberRow kCommon[] = {
    {"at", text, kRequired, "time of the event, UTC, with milliseconds"},
    {"kind", text, kRequired, "one of this table"},
    {"blobs", list, kOptional, "digests of the files in `blobs/` that belong to the event"},
    {"subject", text, kOptional, "the identifier of the person or tenant whose key seals the blobs"},
    {"actor", text, kOptional, "the authenticated identity that caused the event"},
    {"text", text, kOptional, "a line for people"},
};
constexpr MemberRow kBoot[] = {
    {"build", text, kRequired, "version of the server"},
    {"environment", digest, kOptional, "digest of build, instruction set, tuning table and settings"},
};
constexpr MemberRow kShutdown[] = {{"reason", text, kOptional, "\"signal\", \"upgrade\""}};
constexpr MemberRow kKey[] = {
    {"key", text, kRequired, "the key in the form of C2SP signed-note"},
    {"action", text, kRequired, "\"add\" or \"remove\""},
};
constexpr MemberRow kWitness[] = {
    {"witness", text, kRequired, "name in the witness policy"},
    {"state", text, kRequired, "\"added\", \"removed\", \"reached\", \"unreachable\" or \"refused\""},
};
constexpr MemberRow kPolicy[] = {
    {"policy", digest, kRequired, "digest of the policy that is in force from now on"},
    {"serial", number, kOptional, "its serial number"},
};
constexpr MemberRow kApproval[] = {
    {"definition", digest, kRequired, "digest of the definition that is approved"},
    {"approver", text, kRequired, "id of the approver's key"},
};
constexpr MemberRow kLoad[] = {
    {"model", text, kRequired, "name of the model"},
    {"definition", digest, kRequired, "digest of the definition that requests get from now on"},
    {"policy", text, kRequired, "digest of the policy in force, or \"none\""},
    {"rule", text, kRequired, "id of the rule that permits it"},
    {"version", text, kOptional, "version of the model; empty if it has one"},
    {"report", digest, kOptional, "digest of the report over all paths"},
    {"decision", text, kOptional, "id of the decision"},
};
constexpr MemberRow kEdit[] = {
    {"model", text, kRequired, "name of the model"},
    {"definition", digest, kRequired, "digest of the definition that requests get from now on"},
    {"parent", digest, kRequired, "digest of the definition that was edited; it must be the one in force"},
    {"policy", text, kRequired, "digest of the policy in force, or \"none\""},
    {"rule", text, kRequired, "id of the rule that permits it"},
    {"version", text, kOptional, "version of the model; empty if it has one"},
    {"report", digest, kOptional, "digest of the report over all paths"},
    {"decision", text, kOptional, "id of the decision"},
};
constexpr MemberRow kRefuse[] = {
    {"hook", text, kRequired, "decision point: \"load\", \"edit\", \"run\""},
    {"rule", text, kRequired, "id of the rule that refused, or \"default\""},
    {"policy", text, kOptional, "digest of the policy in force"},
    {"reason", text, kOptional, "reason that the client received"},
    {"model", text, kOptional, "name of the model"},
    {"tenant", text, kOptional, "the tenant"},
};
constexpr MemberRow kRegister[] = {
    {"operator", text, kRequired, "custom operator or host function"},
    {"digest", digest, kRequired, "digest of the library or program"},
};
constexpr MemberRow kConfig[] = {{"change", object, kRequired, "difference of the configuration"}};
constexpr MemberRow kTenant[] = {
    {"tenant", text, kRequired, "the tenant"},
    {"action", text, kRequired, "\"add\", \"change\" or \"remove\""},
};
constexpr MemberRow kRequest[] = {
    {"model", text, kRequired, "name of the model"},
    {"definition", digest, kRequired, "digest of the definition that ran"},
    {"status", text, kRequired, "\"ok\", or the code of the error"},
    {"ms", number, kRequired, "milliseconds from admission to this event, rounded up"},
    {"version", text, kOptional, "version of the model; empty if it has one"},
    {"policy", digest, kOptional, "digest of the policy that admitted it"},
    {"tenant", text, kOptional, "the tenant"},
    {"decision", text, kOptional, "id of the decision and of the request"},
    {"steps", list, kOptional, "steps taken, with versions and reasons"},
    {"inputs", object, kOptional, "commitments by name"},
    {"outputs", object, kOptional, "commitments by name"},
    {"report", digest, kOptional, "digest of the report over all paths"},
    {"environment", digest, kOptional, "digest of the environment"},
    {"cost", number, kOptional, "measured cost in nanoseconds"},
};
constexpr MemberRow kReplay[] = {
    {"entry", number, kRequired, "index of the request"},
    {"result", text, kRequired, "\"equal\", \"different\" or the reason of a refusal"},
};
constexpr MemberRow kAdmin[] = {{"action", text, kRequired, "\"export\", \"tap\", \"break\", \"reset\", \"view\""}};
constexpr MemberRow kErase[] = {{"subject", text, kRequired, "identifier whose key was destroyed"}};
constexpr MemberRow kPrune[] = {
    {"from", number, kRequired, "first index of the range"},
    {"to", number, kRequired, "index after the range"},
    {"dropped", object, kRequired, "number of entries that were removed, by kind"},
    {"before", text, kRequired, "entries of class `request` that are older are removed"},
};
constexpr MemberRow kGap[] = {
    {"lost", number, kRequired, "number of requests without an entry"},
    {"since", text, kRequired, "time of the first of them"},
    {"reason", text, kRequired, "\"storage\" or \"pressure\""},
};
constexpr MemberRow kRepair[] = {
    {"reason", text, kRequired, "what was found when the log was opened"},
    {"torn", number, kRequired, "bytes of incomplete entries that were removed"},
};

constexpr KindRow kKinds[] = {
    {"boot", Retention::always, "the server starts", kBoot},
    {"shutdown", Retention::always, "the server ends in order", kShutdown},
    {"key", Retention::always, "a key of the log is added or removed", kKey},
    {"witness", Retention::always, "a witness is added or removed, or its state changes", kWitness},
    {"policy", Retention::always, "a policy comes into force", kPolicy},
    {"approval", Retention::governance, "an approver signs a definition", kApproval},
    {"load", Retention::always, "a definition is loaded and answers requests", kLoad},
    {"edit", Retention::always, "an edit replaces the definition in force", kEdit},
    {"publish", Retention::always, "another definition is published and answers requests", kLoad},
    {"roll_back", Retention::always, "an earlier definition answers requests again", kLoad},
    {"refuse", Retention::governance, "a decision point refuses", kRefuse},
    {"register", Retention::governance, "a custom operator or host function is registered", kRegister},
    {"config", Retention::governance, "the configuration changes", kConfig},
    {"tenant", Retention::governance, "a tenant is added, changed or removed", kTenant},
    {"request", Retention::request, "a request ends, also with an error", kRequest},
    {"replay", Retention::governance, "a request is replayed", kReplay},
    {"admin", Retention::governance, "an administrator reads or changes state", kAdmin},
    {"erase", Retention::always, "a subject's key is destroyed", kErase},
    {"prune", Retention::always, "entries are removed after their time", kPrune},
    {"gap", Retention::always, "requests have no entry", kGap},
    {"repair", Retention::always, "the log was not closed in order", kRepair},
};

bool has_type(const Json& value, MemberType type) {
  switch (type) {
    case text: return value.is_string();
    case number: return value.is_number_integer() && (value.is_number_unsigned() || value.get<std::int64_t>() >= 0);
    case digest: return value.is_string() && is_digest_text(value.get_ref<const std::string&>());
    case object: return value.is_object();
    case list: return value.is_array();
  }
  return false;
}

std::string fault_of_members(const Json& event, std::span<const MemberRow> rows) {
  for (const MemberRow& row : rows) {
    const auto found = event.find(row.name);
    if (found == event.end()) {
      if (row.required) return fmt::format("'{}' is missing", row.name);
    } else if (!has_type(*found, row.type)) {
      return fmt::format("'{}': expected a {}", row.name, name_of(row.type));
    }
  }
  return {};
}

/// Returns the number of `count` digits at a place, or -1.
int digits_at(std::string_view text, std::size_t at, std::size_t count) {
  int number = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  return number;
}

std::string rows_markdown(std::span<const MemberRow> rows) {
  std::string text;
  for (const MemberRow& row : rows) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.name, name_of(row.type), row.required ? "yes" : "", row.text);
  }
  return text;
}

}  // namespace

std::string_view name_of(Retention retention) {
  constexpr std::array<std::string_view, 3> kNames{"always", "governance", "request"};
  return kNames[static_cast<std::size_t>(retention)];
}

std::string_view name_of(MemberType type) {
  constexpr std::array<std::string_view, 5> kNames{"text", "number", "digest", "object", "list"};
  return kNames[static_cast<std::size_t>(type)];
}

std::span<const KindRow> event_kinds() { return kKinds; }
std::span<const MemberRow> common_members() { return kCommon; }

const KindRow* find_kind(std::string_view name) {
  const auto found = std::ranges::find(kKinds, name, &KindRow::name);
  return found == std::end(kKinds) ? nullptr : &*found;
}

std::string fault_of_event(const Json& event) {
  if (!event.is_object()) return "expected an object";
  if (std::string fault = fault_of_members(event, kCommon); !fault.empty()) return fault;
  if (!parse_time(event["at"].get_ref<const std::string&>()))
    return "'at': expected a time like 2026-01-31T23:59:59.000Z";
  const auto& kind = event["kind"].get_ref<const std::string&>();
  const KindRow* row = find_kind(kind);
  return row == nullptr ? fmt::format("there is no kind '{}'", kind) : fault_of_members(event, row->members);
}

bool is_digest_text(std::string_view digest) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return digest.size() == 71 && digest.starts_with("sha256:") && std::ranges::all_of(digest.substr(7), is_hex);
}

std::string event_table_markdown() {
  std::string markdown =
      "# Events of the audit log\n\nThis page is for those who read an [audit log](audit-log.md). It lists the kinds "
      "of "
      "events and their members. `frazil audit kinds` prints it.\n\nRetention classes: `always` is never pruned; "
      "`governance` and `request` have times of their own. Events may have further members.\n\n## Common members\n\n";
  markdown += "Every event has these members:\n\n| member | type | required | content |\n|---|---|---|---|\n";
  markdown += rows_markdown(kCommon);
  markdown += "\n## Kinds\n";
  for (const KindRow& kind : kKinds) {
    markdown +=
        fmt::format("\n### `{}`\n\nWhen {}. Retention class: {}.\n\n", kind.name, kind.text, name_of(kind.retention));
    markdown += "| member | type | required | content |\n|---|---|---|---|\n" + rows_markdown(kind.members);
  }
  return markdown;
}

std::string format_time(std::int64_t milliseconds) {
  using std::chrono::floor, std::chrono::days, std::chrono::sys_time;
  const sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(milliseconds)};
  const auto day = floor<days>(time);
  const std::chrono::year_month_day date(day);
  const auto rest = (time - day).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), rest / 3600000,
                     rest / 60000 % 60, rest / 1000 % 60, rest % 1000);
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd.dddZ";
  if (text.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != kForm[i]) return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(digits_at(text, 0, 4)),
                                         std::chrono::month(static_cast<unsigned>(digits_at(text, 5, 2))),
                                         std::chrono::day(static_cast<unsigned>(digits_at(text, 8, 2)))};
  const int hour = digits_at(text, 11, 2), minute = digits_at(text, 14, 2), second = digits_at(text, 17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t day = std::chrono::sys_days(date).time_since_epoch().count();
  return (((day * 24 + hour) * 60 + minute) * 60 + second) * 1000 + digits_at(text, 20, 3);
}

std::int64_t now_milliseconds() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace frazil::govern
