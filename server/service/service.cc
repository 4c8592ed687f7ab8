#include "server/service/service.h"

#include <algorithm>
#include <cmath>

#include "govern/gate/governor.h"
#include "server/config/config_yaml.h"
#include "server/pipeline/pipeline.h"
#include "server/service/config_policy.h"
#include "server/service/definition_keeper.h"
#include "server/service/path_watch.h"
#include "server/service/policy_reload.h"
#include "server/service/request_audit.h"
#include "server/service/request_policy.h"

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
  if (options.subject_keys == nullptr && !governance.keys.empty()) {
    options.subject_keys = std::make_shared<govern::SubjectKeys>(governance.keys);
  }
  if (options.audit == nullptr || !governance.payloads || options.keeper != nullptr) return options;
  options.keeper = std::make_shared<DefinitionKeeper>(options.audit, options.notify);
  if (governance.keys.empty()) {
    warn(options.notify, "audit", "payloads of requests are not sealed: set governance.keys to a folder of keys");
  }
  return options;
}

std::shared_ptr<RequestAudit> request_audit_of(const ServiceOptions& options) {
  if (options.audit == nullptr) return nullptr;
  return std::make_shared<RequestAudit>(options.audit, options.config.governance, options.environment.digest(),
                                        options.subject_keys);
}

std::string listed(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) (text += text.empty() ? "" : ", ") += key;
  return text.empty() ? "nothing" : text;
}

/// Keeps what needs a restart in a new configuration as it was. Returns true if the rest differs: budgets and prices.
bool take_live_governance(GovernanceConfig& next, const GovernanceConfig& now, std::vector<std::string>& left) {
  GovernanceConfig live = now;
  live.budget = next.budget;
  live.cost = next.cost;
  if (next != live) left.emplace_back("governance");
  next = std::move(live);
  return next != now;
}

/// Watches the path of a call if it is recorded and the policy has accepted a report of the target.
void watch(Call& call, const Served& target, const ServiceOptions& options) {
  if (call.path == nullptr || options.governor == nullptr) return;
  auto allowed = options.governor->accepted_paths().find(target.name(), target.version(), target.digest());
  if (allowed != nullptr) watch_path(call, target, std::move(allowed), options.notify, options.audit);
}

/// Returns the cost that rules read: what earlier requests lead to expect, or the bounds in the version's report.
govern::RunForecast forecast_of(const Call& call, const Served& target, RequestCosts& costs,
                                const govern::Governor& governor) {
  const RequestCosts::Expected expected = costs.forecast(target, call.request.inputs);
  govern::RunForecast forecast = governor.bounds_of(target.digest());
  if (expected.cost_ns) forecast.cost_ns = static_cast<std::int64_t>(std::ceil(*expected.cost_ns));
  if (expected.memory_bytes) forecast.memory = static_cast<std::int64_t>(*expected.memory_bytes);
  return forecast;
}

}  // namespace

Service::Service(ServiceOptions options)
    : options_(completed(std::move(options))),
      traffic_(options_.notify),
      config_(options_.config),
      privacy_(options_.config.governance),
      paths_(options_.config.paths, options_.governor),
      request_audit_(request_audit_of(options_)),
      shared_memory_(options_.max_shared_bytes),
      tenants_(options_.config.tenants),
      gate_(tenants_, options_.config.network.with(options_.network), options_.governor),
      admission_(options_.workers, options_.max_waiting),
      costs_(options_.config, options_.audit, workers_),
      workers_(options_.workers) {
  PermittedChange first(options_.governor, config_question({}, options_.config, ""));
  states_ = std::make_unique<StateStore>(options_.config.state, workers_, options_.notify, options_.governor);
  const bool polls = options_.control == ModelControl::poll;
  FolderState before = polls ? state_of_folder(options_.folder) : FolderState();
  models_ = std::make_unique<ServedModels>(options_, workers_, *states_, privacy_.names());
  tether_.emplace(*models_);
  models_->load_first(tether_->caller(&ServedModels::serve_edited));
  first.done();
  if (!polls) return;
  poll_ = std::make_unique<RepositoryPoll>(
      RepositoryPoll::Options{
          .folder = options_.folder,
          .interval = options_.poll_every,
          .load = [this](const std::string& name) { models_->follow(name); },
          .unload = [this](const std::string& name) { models_->unload(name, false, ServedModels::Cause::poll); },
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
  const bool is_replay = call.path != nullptr;
  costs_.open(call, *target, is_replay);
  const Privacy* const hides = privacy();
  call.record_id = hides != nullptr ? hides->id(call.request.id) : call.request.id;
  if (hides != nullptr) call.trace = hides->trace(call.trace);
  if (!is_replay) {
    paths_.record(call, *target, hides != nullptr);
    if (dynamic_cast<const Pipeline*>(target.get()) != nullptr) name_arms(call, *target, options_.exposures, hides);
    if (request_audit_ != nullptr) audit_request(call, *target, request_audit_, options_.governor != nullptr);
    watch(call, *target, options_);
  }
  if (hides != nullptr) hides->hide_errors(call, *target);
  if (costs_.events().is_due()) change([this] { record_costs(); });
  costs_.settle_at_end(call);
  if (options_.governor != nullptr) {
    if (auto why =
            refusal_by_policy(call, *target, *options_.governor,
                              {.budget_left = [&] { return costs_.budget_left(call); },
                               .forecast = [&] { return forecast_of(call, *target, costs_, *options_.governor); }})) {
      target->counts().add_unread(call.identity, call.arrived, *why);
      return call.done(std::unexpected(std::move(*why)));
    }
  }
  if (auto why = is_replay ? std::nullopt : costs_.reserve(call, *target)) {
    return call.done(std::unexpected(std::move(*why)));
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
      models_->find(change.model.empty() ? before->model : change.model, other ? change.version : before->version);
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
  call.explicit_version = !change.version.empty();
  if (!other) call.recording = std::make_shared<Recording>(Recording::Mode::what_if, before->happenings);
  for (const auto& [name, value] : before->outputs) call.request.outputs.push_back({.name = name});
  call.done = [before, path = call.path, done = std::move(done)](Outcome now) { done(*before, std::move(now), *path); };
  infer(target, std::move(call));
}

void Service::record_costs() {
  try {
    costs_.events().write(repository()->all(), workers_.other()->total() + changes_.other()->total());
  } catch (const api::Error& error) {
    report_error(options_.notify, "audit log", std::string("costs are written later: ") + error.what());
  }
}

Service::Reloaded Service::reload_config(const std::string& user) try {
  const std::scoped_lock lock(configuring_);
  if (options_.config_file.empty()) {
    throw Refusal(Http::bad_request,
                  "there is no configuration to read again: the server was started without --config");
  }
  ServerConfig next = read_server_config(options_.config_file);
  PermittedChange change(options_.governor, config_question(config_, next, user));
  Reloaded reloaded = apply(std::move(next));
  change.done();
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
  const bool other_budget = take_live_governance(next.governance, config_.governance, reloaded.left);
  const bool other_memory = next.state.memory_bytes != config_.state.memory_bytes;
  const bool other_count = next.state.max_sequences != config_.state.max_sequences;
  next.state = with_limits(config_.state, next.state);
  const bool other_collector = next.paths.otlp != config_.paths.otlp || next.paths.otlp_tls != config_.paths.otlp_tls;
  std::shared_ptr<Otlp> collector = other_collector ? paths_.collector_of(next.paths) : nullptr;
  for (const std::string& model : models_->reconfigure(next)) reloaded.changed.push_back("models." + model);
  if (other_budget) reloaded.changed.emplace_back("governance.budget");
  costs_.budgets().replace(next);
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
    try_reload_policy(options_);
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
