#include "govern/audit/event.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "govern/base/encoding.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

constexpr bool kMustBeThere = true, kMayBeAbsent = false;
constexpr std::string_view kDecisionText = "digest of the decision's input, which is a blob: {\"hook\", \"input\"}";
constexpr std::string_view kApprovalsText =
    "what persons signed: {\"counted\", \"not_counted\": reasons, \"envelope\": digest, \"outside\": reasons}";

constexpr MemberRow kCommon[] = {
    {"at", MemberType::text, kMustBeThere, "time of the event, UTC, with milliseconds"},
    {"kind", MemberType::text, kMustBeThere, "one of this table"},
    {"blobs", MemberType::list, kMayBeAbsent, "digests of the files in `blobs/` that belong to the event"},
    {"subject", MemberType::text, kMayBeAbsent, "the identifier of the person or tenant whose key seals the blobs"},
    {"actor", MemberType::text, kMayBeAbsent, "the authenticated identity that caused the event"},
    {"text", MemberType::text, kMayBeAbsent, "a line for people"},
};
constexpr MemberRow kBoot[] = {
    {"build", MemberType::text, kMustBeThere, "version of the server"},
    {"environment", MemberType::digest, kMayBeAbsent, "digest of build, instruction set, tuning table and settings"},
    {"witnesses", MemberType::list, kMayBeAbsent,
     "keys of the witnesses that are asked, in the form of C2SP signed-note"},
    {"quorum", MemberType::text, kMayBeAbsent, "the witness or group of them that must cosign, or \"none\""},
};
constexpr MemberRow kShutdown[] = {{"reason", MemberType::text, kMayBeAbsent, "\"signal\", \"upgrade\""}};
constexpr MemberRow kKey[] = {
    {"key", MemberType::text, kMustBeThere, "the key in the form of C2SP signed-note"},
    {"action", MemberType::text, kMustBeThere, "\"add\" or \"remove\""},
};
constexpr MemberRow kWitness[] = {
    {"witness", MemberType::text, kMustBeThere, "name in the witness policy"},
    {"state", MemberType::text, kMustBeThere, "\"added\", \"removed\", \"reached\", \"unreachable\" or \"refused\""},
};
constexpr MemberRow kPolicy[] = {
    {"policy", MemberType::digest, kMustBeThere, "digest of the policy that is in force from now on"},
    {"serial", MemberType::number, kMayBeAbsent, "its serial number"},
    {"signers", MemberType::list, kMayBeAbsent, "names of the persons whose signatures were demanded and found"},
};
constexpr MemberRow kApproval[] = {
    {"definition", MemberType::digest, kMustBeThere, "digest of the definition that is approved"},
    {"approver", MemberType::text, kMustBeThere, "id of the approver's key"},
    {"parent", MemberType::text, kMayBeAbsent, "digest of the definition that may be replaced; empty: none"},
    {"role", MemberType::text, kMayBeAbsent, "role in which it is given"},
};
constexpr MemberRow kLoad[] = {
    {"model", MemberType::text, kMustBeThere, "name of the model"},
    {"definition", MemberType::digest, kMustBeThere, "digest of the definition that requests get from now on"},
    {"policy", MemberType::text, kMustBeThere, "digest of the policy in force, or \"none\""},
    {"rule", MemberType::text, kMustBeThere, "id of the rule that permits it"},
    {"version", MemberType::text, kMayBeAbsent, "version of the model; empty if it has one"},
    {"parent", MemberType::digest, kMayBeAbsent, "digest of the definition that it replaces"},
    {"report", MemberType::digest, kMayBeAbsent, "digest of the report over all paths"},
    {"approvals", MemberType::object, kMayBeAbsent, kApprovalsText},
    {"decision", MemberType::text, kMayBeAbsent, kDecisionText},
};
constexpr MemberRow kKeep[] = {
    {"model", MemberType::text, kMustBeThere, "name of the model"},
    {"definition", MemberType::digest, kMustBeThere, "digest of the definition"},
    {"manifest", MemberType::digest, kMustBeThere, "digest of the manifest, a blob that lists the definition's parts"},
    {"version", MemberType::text, kMayBeAbsent, "version of the model"},
};
constexpr MemberRow kEdit[] = {
    {"model", MemberType::text, kMustBeThere, "name of the model"},
    {"definition", MemberType::digest, kMustBeThere, "digest of the definition that requests get from now on"},
    {"parent", MemberType::digest, kMustBeThere,
     "digest of the definition that was edited; it must be the one in force"},
    {"policy", MemberType::text, kMustBeThere, "digest of the policy in force, or \"none\""},
    {"rule", MemberType::text, kMustBeThere, "id of the rule that permits it"},
    {"version", MemberType::text, kMayBeAbsent, "version of the model; empty if it has one"},
    {"report", MemberType::digest, kMayBeAbsent, "digest of the report over all paths"},
    {"approvals", MemberType::object, kMayBeAbsent, kApprovalsText},
    {"decision", MemberType::text, kMayBeAbsent, kDecisionText},
};
constexpr MemberRow kRefuse[] = {
    {"hook", MemberType::text, kMustBeThere, "decision point: \"load\", \"edit\", \"run\""},
    {"rule", MemberType::text, kMustBeThere,
     "id of the rule that refused, \"default\", or \"reader\": the model cannot be read"},
    {"policy", MemberType::text, kMayBeAbsent, "digest of the policy in force"},
    {"reason", MemberType::text, kMayBeAbsent, "reason that the client received"},
    {"model", MemberType::text, kMayBeAbsent, "name of the model"},
    {"tenant", MemberType::text, kMayBeAbsent, "the tenant"},
    {"definition", MemberType::digest, kMayBeAbsent, "digest of the refused definition"},
    {"parent", MemberType::digest, kMayBeAbsent, "digest of the definition that it would have replaced"},
    {"approvals", MemberType::object, kMayBeAbsent, kApprovalsText},
    {"decision", MemberType::text, kMayBeAbsent, kDecisionText},
};
constexpr MemberRow kDecide[] = {
    {"hook", MemberType::text, kMustBeThere, "decision point: \"file\", \"dispatch\", \"run\", \"register\""},
    {"policy", MemberType::digest, kMustBeThere, "digest of the policy in force"},
    {"rule", MemberType::text, kMustBeThere, "id of the rule that permits it"},
    {"decision", MemberType::digest, kMustBeThere, kDecisionText},
    {"model", MemberType::text, kMayBeAbsent, "name of the model"},
};
constexpr MemberRow kRegister[] = {
    {"operator", MemberType::text, kMustBeThere, "custom operator or host function"},
    {"digest", MemberType::digest, kMayBeAbsent, "digest of the library or program; absent if it is linked in"},
};
constexpr MemberRow kConfig[] = {{"change", MemberType::object, kMustBeThere, "difference of the configuration"}};
constexpr MemberRow kTenant[] = {
    {"tenant", MemberType::text, kMustBeThere, "the tenant"},
    {"action", MemberType::text, kMustBeThere, "\"add\", \"change\" or \"remove\""},
};
constexpr MemberRow kRequest[] = {
    {"model", MemberType::text, kMustBeThere, "name of the model"},
    {"definition", MemberType::digest, kMustBeThere, "digest of the definition that ran"},
    {"status", MemberType::text, kMustBeThere, "\"ok\", or the code of the error"},
    {"ms", MemberType::number, kMustBeThere, "milliseconds from admission to this event, rounded up"},
    {"version", MemberType::text, kMayBeAbsent, "version of the model; empty if it has one"},
    {"policy", MemberType::digest, kMayBeAbsent, "digest of the policy that admitted it"},
    {"tenant", MemberType::text, kMayBeAbsent, "the tenant"},
    {"decision", MemberType::text, kMayBeAbsent,
     "digest of the input of its decision on hook `run`, which a `decide` or `refuse` has"},
    {"steps", MemberType::list, kMayBeAbsent, "steps taken: `node`, `kind`, `model`, `version`, `taken`"},
    {"inputs", MemberType::object, kMayBeAbsent, "commitments by name"},
    {"outputs", MemberType::object, kMayBeAbsent, "commitments by name"},
    {"report", MemberType::digest, kMayBeAbsent, "digest of the report over all paths"},
    {"environment", MemberType::digest, kMayBeAbsent, "digest of the environment"},
    {"record", MemberType::text, kMayBeAbsent, "name of the record under which its values are committed and sealed"},
    {"unrecorded", MemberType::text, kMayBeAbsent, "why there is no payload: \"share\", \"size\" or \"definition\""},
    {"cost", MemberType::number, kMayBeAbsent, "busy time of workers that the tenant pays, in nanoseconds"},
    {"charge", MemberType::number, kMayBeAbsent, "`cost` times the price of the model, if that is not 1"},
};
constexpr MemberRow kCost[] = {
    {"model", MemberType::text, kMustBeThere, "name of the model; empty for account \"server\""},
    {"account", MemberType::text, kMustBeThere,
     "\"late\", \"excess\", \"padding\", \"warm_up\", \"shadow\", \"guard\", \"replay\", \"check\" or \"server\""},
    {"cost", MemberType::number, kMustBeThere, "busy time of workers since the last such event, in nanoseconds"},
    {"version", MemberType::text, kMayBeAbsent, "version of the model"},
    {"tenant", MemberType::text, kMayBeAbsent, "the tenant that pays"},
};
constexpr MemberRow kReplay[] = {
    {"entry", MemberType::number, kMustBeThere, "index of the request"},
    {"result", MemberType::text, kMustBeThere, "\"equal\", \"different\" or the reason of a refusal"},
};
constexpr MemberRow kAdmin[] = {
    {"action", MemberType::text, kMustBeThere, "an action of the hook `admin`: \"replay\", \"live_view\", \"load\""},
    {"tenant", MemberType::text, kMayBeAbsent, "the tenant whose requests are concerned; absent for all"},
    {"model", MemberType::text, kMayBeAbsent, "the model that is concerned; absent for all"}};
constexpr MemberRow kAlarm[] = {
    {"check", MemberType::text, kMustBeThere,
     "\"path\": a request did what the report of its definition does not allow"},
    {"model", MemberType::text, kMustBeThere, "name of the model"},
    {"definition", MemberType::digest, kMustBeThere, "digest of the definition that ran"},
    {"version", MemberType::text, kMayBeAbsent, "version of the model; empty if it has one"},
};
constexpr MemberRow kErase[] = {{"subject", MemberType::text, kMustBeThere, "identifier whose key was destroyed"}};
constexpr MemberRow kHold[] = {
    {"case", MemberType::text, kMustBeThere, "name of the case, which a `release` gives again"},
    {"from", MemberType::number, kMayBeAbsent, "first index of the held entries; absent: 0"},
    {"to", MemberType::number, kMayBeAbsent, "index after the held entries; absent: all later ones, too"},
};
constexpr MemberRow kRelease[] = {{"case", MemberType::text, kMustBeThere, "name of the case that ends"}};
constexpr MemberRow kPrune[] = {
    {"from", MemberType::number, kMustBeThere, "first index of the range"},
    {"to", MemberType::number, kMustBeThere, "index after the range"},
    {"dropped", MemberType::object, kMustBeThere, "number of entries that were removed, by kind"},
    {"before", MemberType::text, kMustBeThere, "entries of class `request` that are older are removed"},
};
constexpr MemberRow kGap[] = {
    {"lost", MemberType::number, kMustBeThere, "number of requests without an entry"},
    {"since", MemberType::text, kMustBeThere, "time of the first of them"},
    {"reason", MemberType::text, kMustBeThere, "\"storage\", \"pressure\", or \"fault\": the event could not be made"},
    {"text", MemberType::text, kMayBeAbsent, "what was wrong with the event"},
};
constexpr MemberRow kRepair[] = {
    {"reason", MemberType::text, kMustBeThere, "what was found when the log was opened"},
    {"torn", MemberType::number, kMustBeThere, "bytes of incomplete entries that were removed"},
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
    {"keep", Retention::always, "a definition is stored for replays", kKeep},
    {"refuse", Retention::governance, "a decision point refuses", kRefuse},
    {"decide", Retention::always, "a decision without an event of its own permits, once for each input", kDecide},
    {"register", Retention::governance, "a custom operator or host function is registered", kRegister},
    {"config", Retention::governance, "the configuration changes", kConfig},
    {"tenant", Retention::governance, "a tenant is added, changed or removed", kTenant},
    {"request", Retention::request, "a request ends, also with an error", kRequest},
    {"cost", Retention::request, "work that is in no event of a request, once a minute", kCost},
    {"replay", Retention::governance, "a request is replayed", kReplay},
    {"admin", Retention::governance, "an administrator reads or changes state", kAdmin},
    {"alarm", Retention::governance, "a check of the server finds what should not happen", kAlarm},
    {"erase", Retention::always, "a subject's key is destroyed", kErase},
    {"hold", Retention::always, "entries of a subject or a range may be neither erased nor pruned from now on", kHold},
    {"release", Retention::always, "a hold ends", kRelease},
    {"prune", Retention::always, "entries are removed after their time", kPrune},
    {"gap", Retention::always, "requests have no entry", kGap},
    {"repair", Retention::always, "the log was not closed in order", kRepair},
};

bool has_type(const Json& value, MemberType type) {
  switch (type) {
    case MemberType::text: return value.is_string();
    case MemberType::number:
      return value.is_number_integer() && (value.is_number_unsigned() || value.get<std::int64_t>() >= 0);
    case MemberType::digest: return value.is_string() && is_digest_text(value.get_ref<const std::string&>());
    case MemberType::object: return value.is_object();
    case MemberType::list: return value.is_array();
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
int time_digits(std::string_view text, std::size_t at, std::size_t count) {
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

bool is_digest_text(std::string_view text) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 71 && text.starts_with("sha256:") && std::ranges::all_of(text.substr(7), is_hex);
}

std::string event_table_markdown() {
  std::string markdown =
      "# Events of the audit log\n\nThis page describes the entries of an [audit log](audit-log.md). It lists the "
      "kinds "
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
  const std::chrono::year_month_day date{std::chrono::year(time_digits(text, 0, 4)),
                                         std::chrono::month(static_cast<unsigned>(time_digits(text, 5, 2))),
                                         std::chrono::day(static_cast<unsigned>(time_digits(text, 8, 2)))};
  const int hour = time_digits(text, 11, 2), minute = time_digits(text, 14, 2), second = time_digits(text, 17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t day = std::chrono::sys_days(date).time_since_epoch().count();
  return (((day * 24 + hour) * 60 + minute) * 60 + second) * 1000 + time_digits(text, 20, 3);
}

std::int64_t now_milliseconds() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace frazil::govern
