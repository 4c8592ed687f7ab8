#include "server/service/service.h"

#include <algorithm>

#include "server/config/config_yaml.h"
#include "server/pipeline/pipeline.h"
#include "server/service/definition_keeper.h"

namespace frazil::server {
namespace {

/// Returns `places` with the limits of `limits`.
StateConfig with_limits(StateConfig places, const StateConfig& limits) {
  places.memory_bytes = limits.memory_bytes;
  places.max_sequences = limits.max_sequences;
  return places;
}

/// Returns the changed keys of the state storage, which need a restart.
std::vector<std::string> differences(const StateConfig& a, const StateConfig& b) {
  std::vector<std::string> keys;
  if (a.folder != b.folder) keys.emplace_back("state.folder");
  if (a.redis != b.redis) keys.emplace_back("state.redis");
  if (a.redis_prefix != b.redis_prefix) keys.emplace_back("state.redis_prefix");
  if (a.redis_access.user != b.redis_access.user) keys.emplace_back("state.redis_user");
  if (a.redis_access.password != b.redis_access.password) keys.emplace_back("state.redis_password");
  if (a.redis_access.database != b.redis_access.database) keys.emplace_back("state.redis_database");
  if (a.redis_access.tls != b.redis_access.tls) keys.emplace_back("state.redis_tls");
  if (a.page_bytes != b.page_bytes) keys.emplace_back("state.pages");
  return keys;
}

/// Adds what the options leave to the service.
ServiceOptions completed(ServiceOptions options) {
  if (options.registry == nullptr) options.registry = std::make_shared<api::Registry>();
  const GovernanceConfig& governance = options.config.governance;
  if (options.audit == nullptr || !governance.payloads || options.keeper != nullptr) return options;
  options.keeper = std::make_shared<DefinitionKeeper>(options.audit, options.notify);
  if (governance.keys.empty()) {
    warn(options.notify, "audit", "payloads of requests are not sealed: set governance.keys to a folder of keys");
  }
  return options;
}

std::shared_ptr<RequestAudit> request_audit_of(const ServiceOptions& options) {
  if (options.audit == nullptr) return nullptr;
  return std::make_shared<RequestAudit>(options.audit, options.config.governance, options.environment.digest());
}

std::string listed(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) (text += text.empty() ? "" : ", ") += key;
  return text.empty() ? "nothing" : text;
}

}  // namespace

Service::Service(ServiceOptions options)
    : options_(completed(std::move(options))),
      traffic_(options_.notify),
      config_(options_.config),
      paths_(options_.config.paths),
      request_audit_(request_audit_of(options_)),
      shared_memory_(options_.max_shared_bytes),
      tenants_(options_.config.tenants),
      gate_(tenants_, options_.config.network.with(options_.network)),
      admission_(options_.workers, options_.max_waiting),
      workers_(options_.workers) {
  states_ = std::make_unique<StateStore>(options_.config.state, workers_, options_.notify);
  const bool polls = options_.control == ModelControl::poll;
  FolderState before = polls ? state_of_folder(options_.folder) : FolderState();
  models_ = std::make_unique<ServedModels>(options_, workers_, *states_);
  tether_.emplace(*models_);
  models_->load_first(tether_->caller(&ServedModels::serve_edited));
  if (!polls) return;
  poll_ = std::make_unique<RepositoryPoll>(
      RepositoryPoll::Options{.folder = options_.folder,
                              .interval = options_.poll_every,
                              .load = [this](const std::string& name) { models_->follow(name); },
                              .unload = [this](const std::string& name) { unload(name, false, Cause::poll); },
                              .notify = options_.notify},
      std::move(before));
}

std::optional<std::string> Service::why_not_ready() const {
  if (!ready_) return "the server is ending";
  const auto models = repository();
  return models->not_ready().empty() ? std::nullopt : std::optional(models->not_ready().front().text());
}

void Service::infer(const std::shared_ptr<const Served>& target, Call call) {
  if (const auto time_out = call.request.timeout_us; time_out.value_or(0) != 0) {
    constexpr std::uint64_t kMax = 1'000'000'000'000;  // eleven days; limits the sum
    const auto limit = call.arrived + std::chrono::microseconds(std::min(*time_out, kMax));
    call.deadline = call.deadline ? std::min(*call.deadline, limit) : limit;
  }
  call.target = target;
  if (call.path == nullptr) {
    paths_.record(call, *target);
    if (dynamic_cast<const Pipeline*>(target.get()) != nullptr) name_arms(call, *target, options_.exposures);
    if (request_audit_ != nullptr) audit_request(call, *target, request_audit_);
  }
  target->infer(std::move(call));
}

void Service::replay(std::uint64_t number, const Change& change, const Tenants::Identity& identity,
                     std::shared_ptr<Caller> caller, Replayed done) {
  const auto before = paths_.log().find(number, identity);
  if (before == nullptr) throw Refusal(Http::not_found, "there is no path " + std::to_string(number));
  if (before->inputs.empty()) {
    throw Refusal(Http::bad_request,
                  "path " + std::to_string(number) + " was kept without its inputs: set paths.inputs");
  }
  identity.check(change.model.empty() ? before->model : change.model);
  const bool other = !change.model.empty() || !change.version.empty();
  const auto target =
      find(change.model.empty() ? before->model : change.model, other ? change.version : before->version);
  if (!other && target->digest() != before->digest) {
    throw Refusal(Http::bad_request,
                  "model '" + before->model + "' has changed since; name the model to replay on another");
  }
  Call call{.caller = std::move(caller),
            .identity = identity,
            .arrived = Clock::now(),
            .path = std::make_shared<PathRecord>(Clock::now())};
  call.request.inputs = before->inputs;
  call.request.parameters = before->parameters;
  for (const auto& [name, value] : change.parameters) call.request.parameters[name] = value;
  call.request.choices = change.choices;
  if (!other) call.recording = std::make_shared<Recording>(Recording::Mode::what_if, before->happenings);
  for (const auto& [name, value] : before->outputs) call.request.outputs.push_back({.name = name});
  call.done = [before, path = call.path, done = std::move(done)](Outcome now) { done(*before, std::move(now), *path); };
  infer(target, std::move(call));
}

Service::Reloaded Service::reload_config() try {
  const std::scoped_lock lock(configuring_);
  if (options_.config_file.empty()) {
    throw Refusal(Http::bad_request,
                  "there is no configuration to read again: the server was started without --config");
  }
  Reloaded reloaded = apply(read_server_config(options_.config_file));
  ++reloads_;
  inform(options_.notify, "config",
         options_.config_file + " was read again: changed " + listed(reloaded.changed) +
             (reloaded.left.empty() ? "" : "; left until a restart: " + listed(reloaded.left)));
  return reloaded;
} catch (const api::Error& error) {
  ++failed_reloads_;
  throw Refusal(Http::bad_request, error.what());
}

/// Performs everything that may throw first, so that either all changes apply or none.
Service::Reloaded Service::apply(ServerConfig next) {
  Reloaded reloaded{.left = differences(config_.state, next.state)};
  if (next.governance != config_.governance) reloaded.left.emplace_back("governance");
  const bool other_memory = next.state.memory_bytes != config_.state.memory_bytes;
  const bool other_count = next.state.max_sequences != config_.state.max_sequences;
  next.state = with_limits(config_.state, next.state);
  const bool other_collector = next.paths.otlp != config_.paths.otlp || next.paths.otlp_tls != config_.paths.otlp_tls;
  std::shared_ptr<Otlp> collector = other_collector ? PathRecorder::collector_of(next.paths) : nullptr;
  for (const std::string& model : models_->reconfigure(next)) reloaded.changed.push_back("models." + model);
  if (next.tenants != config_.tenants) {
    tenants_.replace(next.tenants);
    reloaded.changed.emplace_back("tenants");
  }
  if (next.network != config_.network) {
    gate_.replace(next.network.with(options_.network));
    reloaded.changed.emplace_back("network");
  }
  if (next.paths != config_.paths) {
    paths_.log().replace(next.paths);
    reloaded.changed.emplace_back("paths");
  }
  if (other_memory) reloaded.changed.emplace_back("state.memory");
  if (other_count) reloaded.changed.emplace_back("state.max_sequences");
  states_->set_limits(next.state.memory_bytes, next.state.max_sequences);
  if (other_collector) paths_.set_collector(std::move(collector));
  config_ = std::move(next);
  return reloaded;
}

void Service::begin_reload_config() {
  change([this] {
    try {
      reload_config();
    } catch (...) {
      const Refusal why = refusal_of_exception();
      warn(options_.notify, "config", std::string("not changed: ") + why.what());
    }
  });
}

void Service::start(const Served* target, InlineRunSlot* inline_slot, std::function<void()> work) {
  const bool quick = inline_slot != nullptr && target != nullptr && target->may_run_inline();
  if (quick && admission_.waiting() == 1 && inline_slot->take()) {
    return workers_.run_inline(std::move(work));
  }
  workers_.post(std::move(work));
}

}  // namespace frazil::server
