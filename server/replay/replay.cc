#include "server/replay/replay.h"

#include <algorithm>
#include <filesystem>
#include <future>

#include <frazil/error.h>

#include "govern/audit/blobs.h"
#include "govern/audit/event.h"
#include "govern/audit/log_reader.h"
#include "govern/audit/note.h"
#include "govern/audit/tiles.h"
#include "govern/base/file.h"
#include "server/core/port.h"
#include "server/pipeline/pipeline.h"
#include "server/replay/compare.h"
#include "server/state/state_bytes.h"

namespace frazil::server {
namespace {

using govern::Json;

[[noreturn]] void refuse_change(const std::string& text, const std::string& expected) {
  throw api::Error(api::Code::bad_input, "change '" + text + "': " + expected);
}

/// Returns the paths of the nodes of a block, with those of the pipelines that it calls.
void collect_node_paths(const Block& block, const std::string& place, std::vector<std::string>& names) {
  for (const NodePtr& node : block.nodes) {
    const NodeView view = node->view();
    names.push_back(place + node->name());
    for (const NodeView::Branch& branch : view.branches) collect_node_paths(*branch.block, place, names);
    if (const auto* const inner = dynamic_cast<const Pipeline*>(view.target)) {
      collect_node_paths(inner->block(), place + node->name() + ".", names);
    }
  }
}

std::vector<std::string> node_paths_of(const Served& served) {
  std::vector<std::string> names;
  if (const auto* const pipeline = dynamic_cast<const Pipeline*>(&served))
    collect_node_paths(pipeline->block(), "", names);
  return names;
}

/// Reads a value as the type that the request's parameter has; a new parameter is a number if it can be one.
Parameter changed_parameter(const std::string& text, const Parameter* like) {
  if (like != nullptr && std::holds_alternative<std::string>(*like)) return text;
  if (text == "true" || text == "false") return text == "true";
  std::size_t used = 0;
  try {
    const bool whole = text.find_first_of(".eEnN") == std::string::npos;
    if (whole) {
      const std::int64_t number = std::stoll(text, &used);
      if (used == text.size()) {
        return like != nullptr && std::holds_alternative<double>(*like) ? Parameter(static_cast<double>(number))
                                                                        : Parameter(number);
      }
    }
    const double number = std::stod(text, &used);
    if (used == text.size()) return number;
  } catch (const std::exception&) {
    return text;
  }
  return text;
}

std::string all_reasons(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
  return all;
}

std::uint64_t signed_size_of(const std::string& folder) {
  const std::string path = folder + "/checkpoint";
  return govern::SignedCheckpoint::parse(govern::read_file(path, govern::kMaxNoteBytes), "file '" + path + "'")
      .checkpoint.size;
}

}  // namespace

void add_change(ReplayChanges& changes, const std::string& text) {
  constexpr std::string_view kInputPrefix = "input:", kModelPrefix = "model=";
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) refuse_change(text, "expected NAME=VALUE");
  const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  if (text.starts_with(kInputPrefix)) {
    if (!value.starts_with('@')) refuse_change(text, "expected input:NAME=@FILE.npy");
    changes.inputs[name.substr(kInputPrefix.size())] = api::Array::read_npy(value.substr(1));
  } else if (text.starts_with(kModelPrefix)) {
    const std::size_t slash = value.find('/');
    if (slash == std::string::npos || !version_from(value.substr(slash + 1))) {
      refuse_change(text, "expected model=NAME/VERSION");
    }
    changes.models[value.substr(0, slash)] = value.substr(slash + 1);
  } else {
    changes.values[name] = value;
  }
}

std::string_view name_of(ReplayResult result) {
  constexpr std::string_view kNames[] = {"equal", "close", "different", "refused"};
  return kNames[static_cast<std::size_t>(result)];
}

Json ReplayReport::json() const {
  Json json = {{"result", name_of(result)}, {"mode", mode}};
  if (!cause.empty()) json["cause"] = cause;
  if (!place.empty()) json["first"] = {{"place", place}, {"recorded", recorded}, {"replayed", replayed}};
  if (!step_difference.empty()) json["step"] = {{"node", step}, {"difference", step_difference}};
  if (largest) json["largest_difference"] = *largest;
  for (const auto& [name, value] : outputs) json["outputs"][name] = value;
  return json;
}

Replayer::Replayer(std::string folder, const std::string& keys, Environment here)
    : folder_(std::move(folder)),
      keys_(keys.empty() ? nullptr : std::make_unique<govern::SubjectKeys>(keys)),
      here_(std::move(here)),
      states_(StateConfig(), workers_),
      kept_([this](const std::string& digest) { return govern::get_blob(folder_, digest); }, workers_, states_),
      payloads_(folder_) {
  (void)signed_size_of(folder_);
}

Replayer::~Replayer() = default;

/// Returns the event, or null with the cause in the report.
Json Replayer::event_at(std::uint64_t entry, ReplayReport& report) const {
  const std::uint64_t size = signed_size_of(folder_);
  if (entry >= size) {
    throw api::Error(api::Code::bad_input,
                     "entry " + std::to_string(entry) + ": the log has " + std::to_string(size) + " signed entries");
  }
  const auto text = govern::TileReader(folder_, size).entry(entry);
  if (!text) {
    report.cause = "the entry was pruned";
    return nullptr;
  }
  Json event = govern::parse_json(*text, "entry " + std::to_string(entry));
  if (event.at("kind") != "request") {
    throw api::Error(api::Code::bad_input, "entry " + std::to_string(entry) + " is an event '" +
                                               event.at("kind").get<std::string>() + "': expected a request");
  }
  return event;
}

/// Returns the payload, or nullopt with the cause in the report.
std::optional<Payload> Replayer::payload_at(std::uint64_t entry, const Json& event, ReplayReport& report) const {
  const auto refuse = [&](std::string cause) {
    report.cause = std::move(cause);
    return std::nullopt;
  };
  if (!event.contains("blobs")) {
    const std::string why = event.value("unrecorded", "");
    return refuse(why == "share"        ? "no payload was recorded: the request was not in governance.share"
                  : why == "size"       ? "no payload was recorded: it was too large"
                  : why == "definition" ? "no payload was recorded: the definition could not be kept"
                                        : "no payload was recorded: governance.payloads was off");
  }
  std::string bytes;
  try {
    bytes = payloads_.get(entry, event.at("blobs").at(0).get<std::string>());
  } catch (const api::Error& error) {
    return refuse(std::string("the payload cannot be read: ") + error.what());
  }
  if (event.contains("record")) {
    if (keys_ == nullptr) return refuse("the payload is sealed: give the folder of keys with --keys");
    auto opened = keys_->unseal(event.at("subject"), event.at("record").get<std::string>(), bytes);
    if (!opened) return refuse("the payload was erased: the key of its subject was destroyed");
    bytes = std::move(*opened);
  }
  try {
    return payload_of(bytes);
  } catch (const StateFault& fault) {
    return refuse(std::string("the payload cannot be read: ") + fault.what());
  }
}

void Replayer::compare_environment(const Json& event, ReplayReport& report) const {
  const std::string there = event.value("environment", "");
  if (there.empty() || there == here_.digest()) return;
  report.mode = "portable";
  try {
    report.cause = "another environment: " + differences(environment_of(govern::get_blob(folder_, there)), here_);
  } catch (const api::Error&) {
    report.cause = "another environment, whose parts the log does not have";
  }
}

/// Returns the manifest of the latest definition of a version that the log has kept.
std::string Replayer::manifest_of(const std::string& model, const std::string& version) const {
  std::string manifest;
  govern::read_log(folder_, {.kinds = {"keep"}}, [&](std::uint64_t, const std::string& entry) {
    const Json event = govern::parse_json(entry, "entry");
    if (event.at("model") == model && event.value("version", "") == version) manifest = event.at("manifest");
  });
  if (!manifest.empty()) return manifest;
  throw api::Error(api::Code::bad_input, "model=" + model + "/" + version + ": the log has kept no such version");
}

/// Returns the definition to run, or null with the cause in the report.
std::shared_ptr<const Served> Replayer::definition(const Payload& payload, const ReplayChanges& changes,
                                                   ReplayReport& report) {
  KeptDefinitions::Replacements replaced;
  for (const auto& [model, version] : changes.models) replaced[model] = manifest_of(model, version);
  try {
    if (replaced.empty()) return kept_.make(payload.manifest);
    const Json manifest = govern::parse_json(govern::get_blob(folder_, payload.manifest), "manifest");
    const auto own = replaced.find(manifest.at("name"));
    if (own != replaced.end()) return kept_.make(own->second);
    return kept_.make(payload.manifest, replaced);
  } catch (const KeptFault& fault) {
    report.cause = fault.what();
  } catch (const api::Error& error) {
    report.cause = std::string("the kept definition cannot be read: ") + error.what();
  }
  return nullptr;
}

Outcome Replayer::run(const std::shared_ptr<const Served>& served, const Payload& payload, const ReplayChanges& changes,
                      const std::shared_ptr<Recording>& recording) {
  Call call{.caller = std::make_shared<Caller>(), .arrived = Clock::now(), .recording = recording};
  call.request.inputs = payload.inputs;
  call.request.outputs = payload.wanted;
  call.request.parameters = payload.parameters;
  for (const auto& [name, value] : changes.inputs) {
    const auto at = std::ranges::find(call.request.inputs, name, &NamedArray::first);
    if (at != call.request.inputs.end()) {
      at->second = value;
    } else if (position_of(served->inputs(), name)) {
      call.request.inputs.emplace_back(name, value);
    } else {
      throw api::Error(api::Code::bad_input, "model '" + served->name() + "' has no input '" + name + "'");
    }
  }
  const std::vector<std::string> nodes = node_paths_of(*served);
  for (const auto& [name, value] : changes.values) {
    if (std::ranges::find(nodes, name) != nodes.end()) {
      call.request.choices[name] = value;
      continue;
    }
    const auto like = call.request.parameters.find(name);
    call.request.parameters[name] =
        changed_parameter(value, like == call.request.parameters.end() ? nullptr : &like->second);
  }
  std::promise<Outcome> answer;
  auto answered = answer.get_future();
  call.done = [&](Outcome outcome) { answer.set_value(std::move(outcome)); };
  workers_.post([served, shared = std::make_shared<Call>(std::move(call))] { served->infer(std::move(*shared)); });
  return answered.get();
}

ReplayReport Replayer::replay(std::uint64_t entry, const ReplayChanges& changes) {
  ReplayReport report;
  const Json event = event_at(entry, report);
  if (event.is_null()) return report;
  const auto payload = payload_at(entry, event, report);
  if (!payload) return report;
  compare_environment(event, report);
  const std::string mode = report.mode;
  report = replay(*payload, changes, report.cause);
  if (changes.empty()) report.mode = mode;
  return report;
}

Payload Replayer::payload(std::uint64_t entry) const {
  ReplayReport report;
  const Json event = event_at(entry, report);
  auto payload = event.is_null() ? std::nullopt : payload_at(entry, event, report);
  if (!payload) throw api::Error(api::Code::bad_input, "entry " + std::to_string(entry) + ": " + report.cause);
  return *std::move(payload);
}

ReplayReport Replayer::replay(const Payload& payload, const ReplayChanges& changes, const std::string& environment) {
  ReplayReport report;
  if (!changes.empty()) report.mode = "what if";
  const auto served = definition(payload, changes, report);
  if (served == nullptr) return report;
  const auto mode = changes.empty() ? Recording::Mode::exact : Recording::Mode::what_if;
  const auto recording = std::make_shared<Recording>(mode, payload.happenings);
  const Outcome outcome = run(served, payload, changes, recording);
  const Recording::Findings findings = recording->findings();
  std::vector<std::string> reasons = findings.loosened;
  if (!environment.empty()) reasons.insert(reasons.begin(), environment);
  report.cause = all_reasons(reasons);
  report.step = findings.node;
  report.step_difference = findings.what;
  compare_outcome(payload, outcome, report.cause, report);
  if (!changes.empty() && outcome) {
    for (const auto& [name, value] : outcome->outputs) report.outputs.emplace_back(name, value.str());
  }
  const bool by_time = is_transient(payload.status) && report.result == ReplayResult::different && changes.empty();
  if (by_time) {
    report.result = ReplayResult::refused;
    report.cause = "the request ended with status " + std::to_string(static_cast<unsigned>(payload.status)) +
                   ", which depends on time and load";
  }
  // Equal outputs by another path are a difference, too, unless other bits are expected.
  const bool strict = !changes.empty() || report.cause.empty();
  const bool other_path = !findings.what.empty() || (changes.empty() && findings.unused > 0);
  if (report.result <= ReplayResult::close && strict && other_path) {
    report.result = ReplayResult::different;
    if (report.step_difference.empty()) report.step_difference = "the replay did not reach steps of the record";
  }
  return report;
}

}  // namespace frazil::server
