#include "govern/audit/verify_meaning.h"

#include <algorithm>
#include <filesystem>

#include "govern/audit/blobs.h"
#include "govern/audit/entry_scan.h"
#include "govern/audit/note.h"
#include "govern/audit/payloads.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

constexpr std::size_t kMaxNotes = 1000;

/// Returns the characters between the quotes of a JSON string without escapes; empty for another value.
std::string_view unquoted(std::string_view value) {
  const bool plain = value.size() >= 2 && value[0] == '"' && value.find('\\') == std::string_view::npos;
  return plain ? value.substr(1, value.size() - 2) : std::string_view();
}

bool value_has_type(std::string_view value, MemberType type) {
  switch (type) {
    case MemberType::text: return value[0] == '"';
    case MemberType::number: return parse_decimal(value).has_value();
    case MemberType::digest: return is_digest_text(unquoted(value));
    case MemberType::object: return value[0] == '{';
    case MemberType::list: return value[0] == '[';
  }
  return false;
}

std::string fault_of_scan(const EntryScan& scan, std::span<const MemberRow> rows) {
  for (const MemberRow& row : rows) {
    const std::string_view value = scan.member(row.name);
    if (value.empty() && row.required) return fmt::format("'{}' is missing", row.name);
    if (!value.empty() && !value_has_type(value, row.type)) {
      return fmt::format("'{}': expected a {}", row.name, name_of(row.type));
    }
  }
  return {};
}

std::string fault_of_entry(const EntryScan& scan, const KindRow* kind) {
  if (std::string fault = fault_of_scan(scan, common_members()); !fault.empty()) return fault;
  if (kind == nullptr) return fmt::format("there is no kind {}", scan.member("kind"));
  return fault_of_scan(scan, kind->members);
}

/// Returns the event of an entry whose text must be the canonical form.
Json read_event(std::string_view entry) {
  Json event = parse_json(entry, "the entry");
  if (canonical(event) != entry) fail(Code::bad_input, "the entry is not in canonical form");
  return event;
}

std::string text_or(const Json& event, const char* name, const char* otherwise) {
  const auto found = event.find(name);
  return found != event.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

std::vector<std::string> blobs_of(const Json& list) {
  std::vector<std::string> blobs;
  for (const Json& blob : list) blobs.push_back(blob.is_string() ? blob.get<std::string>() : "");
  return blobs;
}

/// A model's version as a key: texts of JSON strings.
std::string version_key(std::string_view model, std::string_view version) {
  std::string key(model);
  return (key += ' ') += version.empty() ? "\"\"" : version;
}

}  // namespace

std::optional<EntryFacts> read_facts(std::string_view entry, std::uint64_t index, Findings& findings) try {
  thread_local EntryScan scan;
  if (!scan.read(entry)) fail(Code::bad_input, "the entry is not an object in canonical JSON");
  EntryFacts facts;
  facts.index = index;
  facts.kind = find_kind(unquoted(scan.member("kind")));
  if (const std::string fault = fault_of_entry(scan, facts.kind); !fault.empty()) fail(Code::bad_input, "{}", fault);
  const auto at = parse_time(unquoted(scan.member("at")));
  if (!at) fail(Code::bad_input, "'at': expected a time with milliseconds in UTC");
  facts.at = *at;
  if (const auto blobs = scan.member("blobs"); !blobs.empty()) facts.blobs = blobs_of(parse_json(blobs, "'blobs'"));
  facts.subject = unquoted(scan.member("subject"));
  const bool request = facts.kind->retention == Retention::request;
  if (!request || !scan.is_certain()) facts.event = read_event(entry);
  if (!request) return facts;
  facts.model = scan.member("model");
  facts.version = scan.member("version");
  facts.definition = unquoted(scan.member("definition"));
  facts.policy = unquoted(scan.member("policy"));
  facts.steps = scan.member("steps");
  facts.cost = scan.member("cost");
  facts.ms = static_cast<std::int64_t>(parse_decimal(scan.member("ms")).value_or(0));
  return facts;
} catch (const Error& error) {
  findings.add("entry", index, error.what());
  return std::nullopt;
}

void MeaningCheck::InForce::replace(std::string with, std::int64_t at) {
  if (!now.empty()) former[now] = at;
  now = std::move(with);
}

void MeaningCheck::find(const char* check, const EntryFacts& facts, std::string text) {
  report_.findings.add(check, facts.index, std::move(text));
}

void MeaningCheck::note(std::string text) {
  if (report_.notes.size() < kMaxNotes) report_.notes.push_back(std::move(text));
}

void MeaningCheck::check_time(const EntryFacts& facts) {
  if (facts.at < newest_ - slack_ms_) {
    find("time", facts, fmt::format("its time {} is before {}", format_time(facts.at), format_time(newest_)));
  }
  newest_ = std::max(newest_, facts.at);
}

void MeaningCheck::add(const EntryFacts& facts) {
  ++report_.kinds[std::string(facts.kind->name)];
  check_time(facts);
  for (const std::string& blob : facts.blobs) {
    blobs_.try_emplace(blob, Blob{.entry = facts.index, .subjects = {}}).first->second.subjects.insert(facts.subject);
  }
  const std::string_view kind = facts.kind->name;
  if (kind == "request") return add_request(facts);
  if (kind == "load" || kind == "edit" || kind == "publish" || kind == "roll_back") return add_publication(facts);
  if (kind == "policy") return policy_.replace(facts.event["policy"], facts.at);
  if (kind == "boot" || kind == "shutdown" || kind == "repair") return add_run(facts);
  if (kind == "prune") return add_prune(facts);
  if (kind == "erase") return add_erase(facts);
  if (kind == "hold" || kind == "release") return add_hold(facts);
  if (kind == "gap") {
    const auto lost = facts.event["lost"].get<std::uint64_t>();
    report_.lost += lost;
    note(fmt::format("event {} declares {} lost requests ({})", facts.index, lost, text_or(facts.event, "reason", "")));
  }
}

void MeaningCheck::add_run(const EntryFacts& facts) {
  const std::string_view kind = facts.kind->name;
  if (kind == "boot" && running_) find("run", facts, "a boot follows a boot without a shutdown or repair between them");
  if (kind == "shutdown" && !running_) find("run", facts, "a shutdown without a boot before it");
  if (kind == "repair") note(fmt::format("event {}: {}", facts.index, text_or(facts.event, "reason", "")));
  running_ = kind == "boot";
}

void MeaningCheck::add_erase(const EntryFacts& facts) {
  const std::string subject = facts.event["subject"];
  if (const auto by = holds_.of_subject(subject)) {
    find("hold", facts, fmt::format("it erases subject '{}', which event {} holds", subject, *by));
  }
  erased_.try_emplace(subject, facts.index);
  note(fmt::format("subject '{}' was erased under event {}", subject, facts.index));
}

void MeaningCheck::add_hold(const EntryFacts& facts) {
  const std::string name = facts.event["case"];
  const bool begins = facts.kind->name == "hold";
  if (begins == holds_.has_case(name)) {
    find("hold", facts, fmt::format("case '{}' {}", name, begins ? "has a hold already" : "has no hold"));
  }
  holds_.add(facts.index, facts.event);
  note(fmt::format("event {} {} case '{}'", facts.index, begins ? "holds entries for" : "releases", name));
}

void MeaningCheck::check_in_force(const EntryFacts& facts, const InForce& state, std::string_view value,
                                  const std::string& what) {
  if (value == state.now) return;
  const auto former = state.former.find(std::string(value));
  if (former == state.former.end()) {
    find("definition", facts, fmt::format("{} {} was not published before", what, value));
  } else if (facts.at - facts.ms > former->second + slack_ms_) {
    find("definition", facts, fmt::format("{} {} was replaced at {}", what, value, format_time(former->second)));
  }
}

void MeaningCheck::add_request(const EntryFacts& facts) {
  if (!running_) find("run", facts, "a request outside a boot and its shutdown");
  const auto state = definitions_.find(version_key(facts.model, facts.version));
  if (state == definitions_.end()) {
    find("definition", facts, fmt::format("no definition of model {} was published before", facts.model));
  } else {
    check_in_force(facts, state->second, facts.definition, "definition");
  }
  if (!facts.policy.empty()) check_in_force(facts, policy_, facts.policy, "policy");
  paths_.request(facts.index, facts.model, facts.version, facts.definition, facts.steps, facts.cost);
}

void MeaningCheck::add_publication(const EntryFacts& facts) {
  const Json& event = facts.event;
  const std::string policy = event["policy"], in_force = policy_.now.empty() ? "none" : policy_.now;
  if (policy != in_force) {
    find("permit", facts, fmt::format("it names policy {}, in force is {}", policy, in_force));
  }
  if (event["rule"] == "" && policy != "none") find("permit", facts, "it names no rule that permits it");
  const std::string model = canonical(event["model"]), version = canonical(text_or(event, "version", ""));
  InForce& state = definitions_[version_key(model, version)];
  std::set<std::string>& published = published_[model];
  if (facts.kind->name == "edit" && !published.contains(event["parent"])) {
    find("definition", facts,
         fmt::format("it edits {}, which was not in force for a version", text_or(event, "parent", "")));
  }
  if (facts.kind->name == "roll_back" && !published.contains(event["definition"])) {
    find("definition", facts,
         fmt::format("it goes back to {}, which was not in force before", text_or(event, "definition", "")));
  }
  published.insert(event["definition"].get<std::string>());
  paths_.publish(event);
  if (event["definition"] != state.now) state.replace(event["definition"], facts.at);
}

void MeaningCheck::add_prune(const EntryFacts& facts) {
  const auto from = facts.event["from"].get<std::uint64_t>(), to = facts.event["to"].get<std::uint64_t>();
  if (from > to || to > facts.index) return find("prune", facts, "its range is not before it");
  std::uint64_t count = 0;
  for (const auto& [kind, number] : facts.event["dropped"].items()) {
    const KindRow* row = find_kind(kind);
    if (row == nullptr || row->retention == Retention::always || !number.is_number_unsigned()) {
      return find("prune", facts, fmt::format("entries of kind '{}' may not be removed", kind));
    }
    count += number.get<std::uint64_t>();
  }
  declared_pruned_ += count;
  std::uint64_t& end = pruned_ranges_[from];
  end = std::max(end, to);
  note(fmt::format("event {} declares {} removed entries between {} and {}", facts.index, count, from, to));
}

void MeaningCheck::check_missing() {
  for (const auto& [bundle, count] : missing_) {
    report_.pruned += count;
    const std::uint64_t from = bundle * 256;
    const bool declared = std::ranges::any_of(
        pruned_ranges_, [&](const auto& range) { return range.first <= from && from + 256 <= range.second; });
    if (!declared) report_.findings.add("prune", from, fmt::format("{} entries from here are missing", count));
  }
  if (report_.pruned > declared_pruned_) {
    report_.findings.add(
        "prune", std::nullopt,
        fmt::format("{} entries are missing, {} removals are declared", report_.pruned, declared_pruned_));
  }
}

/// Removes the payloads that are as they were written from the blobs to be found.
void MeaningCheck::check_payloads() {
  try {
    read_payloads(folder_, [this](std::string_view digest, std::string_view bytes) {
      const auto named = blobs_.find(std::string(digest));
      if (named == blobs_.end()) return;
      if (digest_text(sha256(bytes)) == digest) {
        ++report_.blobs;
      } else {
        report_.findings.add("blob", named->second.entry, fmt::format("payload {} has another digest", digest));
      }
      blobs_.erase(named);
    });
  } catch (const Error& error) {
    report_.findings.add("blob", std::nullopt, error.what());
  }
}

void MeaningCheck::check_blobs() {
  check_payloads();
  for (const auto& [digest, blob] : blobs_) {
    const bool all_erased = std::ranges::all_of(blob.subjects, [&](const auto& one) { return erased_.contains(one); });
    try {
      if (std::filesystem::exists(blob_path(folder_, digest))) {
        (void)get_blob(folder_, digest);
        ++report_.blobs;
      } else if (all_erased) {
        note(fmt::format("entry {}: blob {} was erased under event {}", blob.entry, digest,
                         erased_.at(*blob.subjects.begin())));
      } else {
        report_.findings.add("blob", blob.entry, fmt::format("blob {} is missing", digest));
      }
    } catch (const Error& error) {
      report_.findings.add("blob", blob.entry, error.what());
    }
  }
}

void MeaningCheck::finish() {
  check_missing();
  check_blobs();
  paths_.finish();
  if (running_) note("the last boot has no shutdown yet: the server runs, or did not end in order");
}

}  // namespace frazil::govern
