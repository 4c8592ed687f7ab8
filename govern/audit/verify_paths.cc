#include "govern/audit/verify_paths.h"

#include "govern/audit/blobs.h"
#include "govern/audit/note.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

/// Returns the key of a served definition; `model` and `version` are JSON texts.
std::string served_key(std::string_view model, std::string_view version, std::string_view definition) {
  std::string key(model);
  (key += ' ') += version.empty() ? "\"\"" : version;
  return (key += ' ') += definition;
}

}  // namespace

void PathsInLog::publish(const Json& event) {
  if (!prepare_) return;
  const Json version = event.value("version", Json(""));
  Known& known = known_[served_key(canonical(event["model"]), canonical(version),
                                   event["definition"].get_ref<const std::string&>())];
  known = {.report = event.value("report", ""), .model = event["model"], .version = version.is_string() ? version : ""};
}

const ComparePath& PathsInLog::compare_of(Known& known) {
  if (known.is_read || known.report.empty()) return known.compare;
  known.is_read = true;
  try {
    const Json report = parse_json(get_blob(folder_, known.report), fmt::format("report {}", known.report));
    known.compare = prepare_(report, known.model, known.version);
  } catch (const Error& error) {
    report_.notes.push_back(fmt::format("the paths of '{}' cannot be compared: {}", known.model, error.what()));
  }
  return known.compare;
}

void PathsInLog::request(std::uint64_t entry, std::string_view model, std::string_view version,
                         std::string_view definition, std::string_view steps, std::string_view cost) {
  if (!prepare_ || steps.empty()) return;
  const auto known = known_.find(served_key(model, version, definition));
  const ComparePath* const compare = known == known_.end() ? nullptr : &compare_of(known->second);
  if (compare == nullptr || !*compare) return void(++without_report_);
  ++compared_;
  const std::optional<std::uint64_t> ns = parse_decimal(cost);
  const ComparedPath result = (*compare)(parse_json(std::string(steps), "'steps'"), ns);
  for (const std::string& line : result.outside) report_.findings.add("path", entry, line);
  slow_ += result.slow ? 1 : 0;
}

void PathsInLog::finish() {
  if (compared_ > 0) report_.notes.push_back(fmt::format("{} recorded paths were compared with reports", compared_));
  if (without_report_ > 0) {
    report_.notes.push_back(fmt::format("{} recorded paths have no report to compare with", without_report_));
  }
  if (slow_ > 0) {
    report_.notes.push_back(
        fmt::format("{} requests took longer than the worst time that their report predicts", slow_));
  }
}

}  // namespace frazil::govern
