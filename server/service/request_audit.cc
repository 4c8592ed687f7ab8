#include "server/service/request_audit.h"

#include <random>

#include "govern/base/digest.h"
#include "govern/base/encoding.h"
#include "govern/gate/decision_log.h"
#include "server/core/port.h"
#include "server/replay/payload.h"
#include "server/request/path_record.h"
#include "server/service/cost_events.h"

namespace frazil::server {
namespace {

using govern::Json;

constexpr std::size_t kMaxListedSteps = 200, kMaxBytesOfSteps = 32'768;  // an event has at most 64 KiB
constexpr std::size_t kDigestBytes = 71;                                 // of "sha256:..."

std::string random_text() {
  std::array<std::uint8_t, 8> bytes = {};
  govern::random_bytes(bytes);
  return govern::hex(bytes);
}

/// The digest of an input or output, by its name.
using NamedDigest = std::pair<std::string, std::string>;

/// The data of a request's beginning that its end needs.
struct AuditedRequest {
  std::shared_ptr<RequestAudit> audit;
  bool governed;
  const Served* served;
  std::shared_ptr<const Served> hold;
  std::string tenant, subject;
  std::shared_ptr<RequestCost> cost;
  Clock::time_point arrived;
  std::shared_ptr<PathRecord> path;
  std::shared_ptr<Recording> recording;  ///< null: no payload
  std::string unrecorded;                ///< why there is none
  Payload payload;                       ///< without the events and the outcome
};

/// The content of an event as plain data: no part of it belongs to the model or changes later.
struct RequestFacts {
  std::shared_ptr<RequestEntries> entries;
  bool governed;
  std::string model, version, definition, tenant;
  std::optional<Http> error = {};  ///< nullopt: the request succeeded
  std::chrono::milliseconds time;
  CostFacts cost;
  std::vector<PathRecord::Step> steps;
  std::string unrecorded = {};
  std::vector<NamedDigest> inputs = {}, outputs = {};  ///< that the event commits to
  std::string subject = {}, subject_name = {};         ///< its identifier and its name; empty: nothing is sealed
  std::string payload = {};                            ///< its bytes, not sealed
};

Json event_of(const RequestFacts& facts) {
  Json event = {{"kind", "request"},
                {"model", facts.model},
                {"version", facts.version},
                {"definition", facts.definition},
                {"status", facts.error ? std::to_string(static_cast<int>(*facts.error)) : "ok"},
                {"ms", static_cast<std::uint64_t>(facts.time.count())}};
  if (!facts.tenant.empty()) event["tenant"] = facts.tenant;
  add_cost(event, facts.cost);
  if (facts.governed) govern::refer_to_run(event);
  if (const std::string& environment = facts.entries->environment(); !environment.empty()) {
    event["environment"] = environment;
  }
  if (!facts.unrecorded.empty()) event["unrecorded"] = facts.unrecorded;
  return event;
}

/// Returns the steps of a path without what may be personal: reasons, and the keys of splits.
Json json_of_steps(const std::vector<PathRecord::Step>& steps) {
  Json list = Json::array();
  std::size_t bytes = 0;
  for (const PathRecord::Step& step : steps) {
    if (list.size() == kMaxListedSteps || bytes > kMaxBytesOfSteps) {
      list.push_back({{"kind", "left out"}, {"taken", std::to_string(steps.size() - list.size()) + " steps"}});
      break;
    }
    Json json = {{"kind", step.kind}};
    const std::pair<const char*, const std::string*> members[] = {
        {"node", &step.node}, {"model", &step.model}, {"version", &step.version}, {"taken", &step.taken}};
    for (const auto& [name, value] : members) {
      if (!value->empty()) json[name] = *value;
      bytes += value->size();
    }
    list.push_back(std::move(json));
  }
  return list;
}

/// Returns the name of the subject whose data a request has.
std::string subject_of(const Call& call, const GovernanceConfig& config) {
  const auto at = call.request.parameters.find(config.subject_parameter);
  if (config.subject_parameter.empty() || at == call.request.parameters.end()) return call.identity.name();
  const auto* const text = std::get_if<std::string>(&at->second);
  if (text != nullptr) return *text;
  const auto* const number = std::get_if<std::int64_t>(&at->second);
  return number != nullptr ? std::to_string(*number) : call.identity.name();
}

/// Returns the digests of values. Names that the model does not have are the client's, and may be personal.
std::vector<NamedDigest> digests_of(const std::vector<NamedArray>& values, const std::vector<api::Port>& ports) {
  std::vector<NamedDigest> digests;
  for (const auto& [name, value] : values) {
    if (position_of(ports, name)) digests.emplace_back(name, digest_of_array(value));
  }
  return digests;
}

template <class Commit>
void add_commitments(Json& event, const RequestFacts& facts, Commit commit) {
  const auto all = [&](const std::string& kind, const std::vector<NamedDigest>& digests) {
    Json json = Json::object();
    for (const auto& [name, digest] : digests) json[name] = commit(kind + name, digest);
    return json;
  };
  event["inputs"] = all("input ", facts.inputs);
  if (!facts.error) event["outputs"] = all("output ", facts.outputs);
}

/// Returns the bytes of the payload, or "" if there is none; `unrecorded` then has the reason.
std::string payload_bytes(AuditedRequest& request, const Outcome& outcome) {
  if (request.recording == nullptr) return {};
  auto happenings = request.recording->happenings();
  if (!happenings) return request.unrecorded = "size", "";
  Payload& payload = request.payload;
  payload.happenings = std::move(*happenings);
  if (outcome) {
    for (const NamedArray& output : outcome->outputs) payload.outputs.push_back(recorded_output(output));
  } else {
    payload.status = outcome.error().status();
    payload.error = outcome.error().what();
  }
  std::string bytes = bytes_of_payload(payload);
  if (bytes.size() + 1024 > govern::kMaxPayloadBytes) return request.unrecorded = "size", "";
  return bytes;
}

/// Returns the entry with commitments under the subject's key, and the payload sealed with it.
govern::RequestEntry sealed_entry(const RequestFacts& facts, const std::string& subject) {
  govern::SubjectKeys& keys = *facts.entries->keys();
  const std::string record = facts.entries->next_record();
  govern::RequestEntry entry{.event = event_of(facts)};
  entry.event["subject"] = subject;
  entry.event["record"] = record;
  add_commitments(entry.event, facts, [&](const std::string& name, const std::string& digest) {
    return keys.commit(subject, record, name, digest);
  });
  if (!facts.payload.empty()) entry.payload = keys.seal(subject, record, facts.payload);
  return entry;
}

/// Makes the entry of a request, once, on any thread.
govern::RequestEntry entry_of(RequestFacts& facts) {
  govern::RequestEntry entry;
  if (facts.entries->keys() == nullptr) {
    entry = {.event = event_of(facts), .payload = std::move(facts.payload)};
    if (facts.entries->commits()) {
      add_commitments(entry.event, facts, [](const std::string&, const std::string& digest) { return digest; });
    }
  } else {
    try {
      entry = sealed_entry(facts, facts.subject);
    } catch (const api::Error&) {  // the subject was erased meanwhile: a new key is made
      facts.entries->forget_subject(facts.subject_name);
      entry = sealed_entry(facts, facts.entries->subject_id(facts.subject_name));
    }
  }
  entry.event["steps"] = json_of_steps(facts.steps);
  return entry;
}

RequestFacts facts_of(AuditedRequest& request, const Outcome& outcome) {
  RequestEntries& entries = *request.audit->entries();
  const auto time = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - request.arrived);
  RequestFacts facts{.entries = request.audit->entries(),
                     .governed = request.governed,
                     .model = request.served->name(),
                     .version = request.served->version(),
                     .definition = request.served->digest(),
                     .tenant = request.tenant,
                     .time = std::max(time, std::chrono::milliseconds(0)),
                     .cost = cost_facts(request.cost.get()),
                     .steps = request.path->steps()};
  if (!outcome) facts.error = outcome.error().status();
  facts.payload = payload_bytes(request, outcome);
  facts.unrecorded = request.unrecorded;
  if (entries.commits()) {
    facts.inputs = digests_of(request.payload.inputs, request.served->inputs());
    if (outcome) facts.outputs = digests_of(outcome->outputs, request.served->outputs());
  }
  if (entries.keys() != nullptr) {
    facts.subject_name = request.subject;
    facts.subject = entries.subject_id(request.subject);
  }
  return facts;
}

/// Returns about the bytes that the facts hold without the payload.
std::size_t size_of(const RequestFacts& facts) {
  std::size_t bytes = sizeof(RequestFacts) + facts.tenant.size() + facts.subject_name.size();
  bytes += facts.steps.size() * sizeof(PathRecord::Step);
  bytes += (facts.inputs.size() + facts.outputs.size()) * (sizeof(NamedDigest) + kDigestBytes);
  return bytes;
}

void append_request(AuditedRequest& request, const Outcome& outcome) {
  const auto facts = std::make_shared<RequestFacts>(facts_of(request, outcome));
  const std::size_t bytes = size_of(*facts), payload = facts->payload.size();
  (void)request.audit->log().append_request([facts] { return entry_of(*facts); }, bytes, payload);
}

}  // namespace

RequestEntries::RequestEntries(Commitments commitments, std::string environment,
                               std::shared_ptr<govern::SubjectKeys> keys)
    : commits_(keys != nullptr || commitments == Commitments::plain),
      environment_(std::move(environment)),
      prefix_(random_text()),
      keys_(std::move(keys)) {}

RequestAudit::RequestAudit(std::shared_ptr<govern::AuditLog> log, GovernanceConfig config, std::string environment,
                           std::shared_ptr<govern::SubjectKeys> keys)
    : log_(std::move(log)),
      config_(std::move(config)),
      entries_(std::make_shared<RequestEntries>(config_.commitments, std::move(environment), std::move(keys))) {}

bool RequestAudit::takes_payload() const {
  if (!config_.payloads || config_.share <= 0) return false;
  if (config_.share >= 1) return true;
  thread_local std::mt19937_64 random(std::random_device{}());
  return std::uniform_real_distribution<double>()(random) < config_.share;
}

std::string RequestEntries::next_record() { return prefix_ + "-" + std::to_string(++records_); }

std::string RequestEntries::subject_id(const std::string& subject) {
  const std::scoped_lock lock(mutex_);
  if (const auto known = subjects_.find(subject); known != subjects_.end()) return known->second;
  if (subjects_.size() == kMaxSubjects) subjects_.clear();
  return subjects_[subject] = keys_->id_of(subject);
}

void RequestEntries::forget_subject(const std::string& subject) {
  const std::scoped_lock lock(mutex_);
  subjects_.erase(subject);
}

void audit_request(Call& call, const Served& target, const std::shared_ptr<RequestAudit>& audit, bool governed) {
  if (call.path == nullptr) call.path = std::make_shared<PathRecord>(call.arrived);
  const GovernanceConfig& config = audit->config();
  const auto request =
      std::make_shared<AuditedRequest>(AuditedRequest{.audit = audit,
                                                      .governed = governed,
                                                      .served = &target,
                                                      .hold = call.target,
                                                      .tenant = call.identity.name(),
                                                      .subject = subject_of(call, config),
                                                      .cost = call.cost,
                                                      .arrived = call.arrived,
                                                      .path = call.path,
                                                      .recording = {},
                                                      .unrecorded = {},
                                                      .payload = {.manifest = target.governance().manifest}});
  if (config.payloads) request->unrecorded = target.governance().manifest.empty() ? "definition" : "share";
  if (!target.governance().manifest.empty() && audit->takes_payload()) {
    request->unrecorded.clear();
    if (call.recording == nullptr) call.recording = std::make_shared<Recording>();
    request->recording = call.recording;
    request->payload.parameters = call.request.parameters;
    for (const WantedOutput& wanted : call.request.outputs) {
      request->payload.wanted.push_back({.name = wanted.name, .classes = wanted.classes});
    }
  }
  if (audit->entries()->commits() || request->recording != nullptr) request->payload.inputs = call.request.inputs;
  call.done = [request, done = std::move(call.done)](Outcome outcome) {
    try {
      append_request(*request, outcome);
    } catch (const std::exception&) {
      outcome = std::unexpected(Refusal(Http::unavailable, "the request could not be recorded in the audit log"));
    }
    done(std::move(outcome));
  };
}

}  // namespace frazil::server
