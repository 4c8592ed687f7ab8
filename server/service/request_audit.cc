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

constexpr std::size_t kMaxListedSteps = 200;  // an event has at most 64 KiB

std::string random_text() {
  std::array<std::uint8_t, 8> bytes = {};
  govern::random_bytes(bytes);
  return govern::hex(bytes);
}

Json request_event(const Served& target, const std::string& tenant, const Outcome& outcome, Clock::duration time,
                   RequestCost* cost) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  Json event = {{"kind", "request"},
                {"model", target.name()},
                {"version", target.version()},
                {"definition", target.digest()},
                {"status", outcome ? "ok" : std::to_string(static_cast<int>(outcome.error().status()))},
                {"ms", static_cast<std::uint64_t>(std::max<std::int64_t>(ms, 0))}};
  if (!tenant.empty()) event["tenant"] = tenant;
  if (cost != nullptr) add_cost(event, *cost);
  return event;
}

/// Returns the steps of a path without what may be personal: reasons, and the keys of splits.
Json json_of_steps(const PathRecord& path) {
  Json list = Json::array();
  const std::vector<PathRecord::Step> steps = path.steps();
  for (const PathRecord::Step& step : steps) {
    if (list.size() == kMaxListedSteps) {
      list.push_back({{"kind", "left out"}, {"taken", std::to_string(steps.size() - list.size()) + " steps"}});
      break;
    }
    Json json = {{"kind", step.kind}};
    const std::pair<const char*, const std::string*> members[] = {
        {"node", &step.node}, {"model", &step.model}, {"version", &step.version}, {"taken", &step.taken}};
    for (const auto& [name, value] : members) {
      if (!value->empty()) json[name] = *value;
    }
    list.push_back(std::move(json));
  }
  return list;
}

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

/// Returns the name of the subject whose data a request has.
std::string subject_of(const Call& call, const GovernanceConfig& config) {
  const auto at = call.request.parameters.find(config.subject_parameter);
  if (config.subject_parameter.empty() || at == call.request.parameters.end()) return call.identity.name();
  const auto* const text = std::get_if<std::string>(&at->second);
  if (text != nullptr) return *text;
  const auto* const number = std::get_if<std::int64_t>(&at->second);
  return number != nullptr ? std::to_string(*number) : call.identity.name();
}

/// Commits to values by their digests. Names that the model does not have are the client's, and may be personal.
template <class Commit>
Json commitments(const std::vector<NamedArray>& values, const std::vector<api::Port>& ports, Commit commit) {
  Json json = Json::object();
  for (const auto& [name, value] : values) {
    if (position_of(ports, name)) json[name] = commit(name, digest_of_array(value));
  }
  return json;
}

template <class Commit>
void add_commitments(Json& event, const AuditedRequest& request, const Outcome& outcome, Commit commit) {
  event["inputs"] = commitments(request.payload.inputs, request.served->inputs(),
                                [&](const auto& name, auto digest) { return commit("input " + name, digest); });
  if (!outcome) return;
  event["outputs"] = commitments(outcome->outputs, request.served->outputs(),
                                 [&](const auto& name, auto digest) { return commit("output " + name, digest); });
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

/// Adds the commitments under the subject's key and seals the payload with it.
void seal_request(Json& event, const AuditedRequest& request, const Outcome& outcome, std::string& payload) {
  govern::SubjectKeys& keys = *request.audit->keys();
  const std::string subject = request.audit->subject_id(request.subject), record = request.audit->next_record();
  event["subject"] = subject;
  event["record"] = record;
  add_commitments(event, request, outcome, [&](const std::string& name, const std::string& digest) {
    return keys.commit(subject, record, name, digest);
  });
  if (!payload.empty()) payload = keys.seal(subject, record, payload);
}

void append_request(AuditedRequest& request, const Outcome& outcome) {
  RequestAudit& audit = *request.audit;
  Json event =
      request_event(*request.served, request.tenant, outcome, Clock::now() - request.arrived, request.cost.get());
  if (request.governed) govern::refer_to_run(event);
  event["steps"] = json_of_steps(*request.path);
  if (!audit.environment().empty()) event["environment"] = audit.environment();
  std::string payload = payload_bytes(request, outcome);
  if (!request.unrecorded.empty()) event["unrecorded"] = request.unrecorded;
  if (audit.keys() != nullptr) {
    try {
      seal_request(event, request, outcome, payload);
    } catch (const api::Error&) {  // the subject was erased meanwhile: a new key is made
      audit.forget_subject(request.subject);
      seal_request(event, request, outcome, payload);
    }
  } else if (audit.config().commitments == Commitments::plain) {
    add_commitments(event, request, outcome, [](const std::string&, std::string digest) { return digest; });
  }
  (void)audit.log().append(std::move(event), std::move(payload));
}

}  // namespace

RequestAudit::RequestAudit(std::shared_ptr<govern::AuditLog> log, GovernanceConfig config, std::string environment,
                           std::shared_ptr<govern::SubjectKeys> keys)
    : log_(std::move(log)),
      config_(std::move(config)),
      environment_(std::move(environment)),
      prefix_(random_text()),
      keys_(std::move(keys)) {}

bool RequestAudit::takes_payload() const {
  if (!config_.payloads || config_.share <= 0) return false;
  if (config_.share >= 1) return true;
  thread_local std::mt19937_64 random(std::random_device{}());
  return std::uniform_real_distribution<double>()(random) < config_.share;
}

std::string RequestAudit::next_record() { return prefix_ + "-" + std::to_string(++records_); }

std::string RequestAudit::subject_id(const std::string& subject) {
  const std::scoped_lock lock(mutex_);
  if (const auto known = subjects_.find(subject); known != subjects_.end()) return known->second;
  if (subjects_.size() == kMaxSubjects) subjects_.clear();
  return subjects_[subject] = keys_->id_of(subject);
}

void RequestAudit::forget_subject(const std::string& subject) {
  const std::scoped_lock lock(mutex_);
  subjects_.erase(subject);
}

void audit_request(Call& call, const Served& target, std::shared_ptr<RequestAudit> audit, bool governed) {
  if (call.path == nullptr) call.path = std::make_shared<PathRecord>(call.arrived);
  const GovernanceConfig& config = audit->config();
  const auto request = std::make_shared<AuditedRequest>(AuditedRequest{.audit = audit,
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
                                                                       .payload = {.manifest = target.manifest()}});
  if (config.payloads) request->unrecorded = target.manifest().empty() ? "definition" : "share";
  if (!target.manifest().empty() && audit->takes_payload()) {
    request->unrecorded.clear();
    if (call.recording == nullptr) call.recording = std::make_shared<Recording>();
    request->recording = call.recording;
    request->payload.parameters = call.request.parameters;
    for (const WantedOutput& wanted : call.request.outputs) {
      request->payload.wanted.push_back({.name = wanted.name, .classes = wanted.classes});
    }
  }
  const bool commits = audit->keys() != nullptr || config.commitments == Commitments::plain;
  if (commits || request->recording != nullptr) request->payload.inputs = call.request.inputs;
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
