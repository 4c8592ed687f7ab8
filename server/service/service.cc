#include "server/service/service.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "server/config/config_yaml.h"
#include "server/pipeline/pipeline.h"

namespace frazil::server {
namespace {

/// Returns null if spans are not sent.
std::shared_ptr<Otlp> collector_of(const PathConfig& config) {
  return config.otlp.empty() ? nullptr : std::make_shared<Otlp>(config.otlp, config.otlp_tls);
}

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

ServiceOptions with_registry(ServiceOptions options) {
  if (options.registry == nullptr) options.registry = std::make_shared<api::Registry>();
  return options;
}

/// Returns the source without a function for edits.
Loader::Source source_of(const ServiceOptions& options) {
  std::error_code error;
  const std::string copies =
      options.copies.empty() ? std::filesystem::temp_directory_path(error).string() : options.copies;
  if (error) {
    throw api::Error(api::Code::bad_input, "there is no folder for temporary files (TMPDIR): give --copies");
  }
  return {.folder = options.folder, .copies = copies, .registry = options.registry, .edited = {}};
}

std::string versions_text(const Repository& repository, const std::string& model) {
  std::string text;
  for (const auto& served : repository.versions(model)) {
    text += (text.empty() ? "version " : ", ") + served->version() + " (" + served->digest() + ")";
  }
  return text;
}

std::string milliseconds_text(Clock::duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
}

std::string listed(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) (text += text.empty() ? "" : ", ") += key;
  return text.empty() ? "nothing" : text;
}

}  // namespace

Service::Service(ServiceOptions options)
    : options_(with_registry(std::move(options))),
      traffic_(options_.notify),
      config_(options_.config),
      paths_(options_.config.paths),
      shared_memory_(options_.max_shared_bytes),
      tenants_(options_.config.tenants),
      gate_(tenants_, options_.config.network.with(options_.network)),
      admission_(options_.workers, options_.max_waiting),
      workers_(options_.workers) {
  otlp_ = collector_of(options_.config.paths);
  sends_spans_ = otlp_ != nullptr;
  states_ = std::make_unique<StateStore>(options_.config.state, workers_, options_.notify);
  Loader::Source source = source_of(options_);
  source.edited = tether_.caller(&Service::serve_edited);
  loader_ =
      std::make_unique<Loader>(std::move(source), options_.run, options_.config, workers_, *states_, options_.notify);
  const bool polls = options_.control == ModelControl::poll;
  FolderState before = polls ? state_of_folder(options_.folder) : FolderState();
  if (options_.repository) {
    repository_ = options_.repository;
  } else {
    const bool some = options_.control == ModelControl::on_request;
    repository_ = some ? loader_->load_some(options_.load_models) : loader_->load_all();
  }
  if (!polls) return;
  poll_ = std::make_unique<RepositoryPoll>(
      RepositoryPoll::Options{.folder = options_.folder,
                              .interval = options_.poll_every,
                              .load = [this](const std::string& name) { follow(name); },
                              .unload = [this](const std::string& name) { unload(name, false, Cause::poll); },
                              .notify = options_.notify},
      std::move(before));
}

std::shared_ptr<const Repository> Service::repository() const {
  const std::scoped_lock lock(mutex_);
  return repository_;
}

std::vector<std::shared_ptr<const Served>> Service::models_of(const Tenants::Identity& identity) const {
  auto models = repository()->all();
  std::erase_if(models, [&](const auto& served) { return !identity.may_use(served->name()); });
  return models;
}

std::vector<Service::IndexEntry> Service::index(const Tenants::Identity& identity, bool ready) const {
  const auto models = repository();
  std::vector<IndexEntry> index;
  for (const auto& served : models->all()) index.push_back({.name = served->name(), .version = served->version()});
  if (!ready) {
    for (const auto& [name, version, reason] : models->not_ready()) {
      index.push_back({.name = name, .version = std::to_string(version), .reason = reason});
    }
    add_not_loaded(*models, index);
  }
  std::erase_if(index, [&](const IndexEntry& entry) { return !identity.may_use(entry.name); });
  return index;
}

void Service::add_not_loaded(const Repository& models, std::vector<IndexEntry>& index) const try {
  if (options_.repository) return;
  for (auto& [name, version] : loader_->list()) {
    if (models.has_model(name)) continue;
    index.push_back({.name = std::move(name), .version = std::move(version), .reason = "not loaded"});
  }
} catch (const api::Error& error) {  // its text has paths
  warn(options_.notify, "repository index", error.what());
  throw Refusal(Http::unavailable, "the folder of the models cannot be listed; the server's log has the reason");
}

std::shared_ptr<const Served> Service::find(std::string_view name, std::string_view version) const {
  const auto models = repository();
  if (auto served = models->find(name, version)) return served;
  if (const auto why = models->why_not_ready(name, version)) throw Refusal(Http::unavailable, *why);
  const std::string of = version.empty() ? "" : " in version '" + std::string(version) + "'";
  throw Refusal(Http::not_found, "there is no model '" + std::string(name) + "'" + of);
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
    keep_path(call, *target);
    if (dynamic_cast<const Pipeline*>(target.get()) != nullptr) name_arms(call, *target, options_.exposures);
  }
  target->infer(std::move(call));
}

void Service::keep_path(Call& call, const Served& target) {
  call.path = paths_.begin(call.arrived);
  if (call.path == nullptr) return;
  const bool inputs = paths_.keeps_inputs();
  auto record = std::make_shared<RequestRecord>();
  record->began_ns = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  record->id = call.request.id;
  record->tenant = call.identity.name();
  record->trace = call.trace;
  record->parameters = call.request.parameters;
  if (inputs) record->inputs = call.request.inputs;
  record->model = target.name();
  record->version = target.version();
  record->digest = target.digest();
  if (call.part) {
    call.part = [record, arrived = call.arrived, part = std::move(call.part)](InferResponse response) {
      if (record->parts++ == 0) record->first_part = Clock::now() - arrived;
      part(std::move(response));
    };
  }
  call.done = [this, record, inputs, path = call.path, arrived = call.arrived,
               done = std::move(call.done)](Outcome outcome) {
    record->time = Clock::now() - arrived;
    record->steps = path->take_steps();
    if (!outcome) {
      record->status = outcome.error().status();
      record->error = outcome.error().what();
    } else if (inputs) {
      record->outputs = outcome->outputs;
      std::ranges::move(path->state(), std::back_inserter(record->inputs));
    }
    const auto kept = paths_.end(record);
    if (const auto collector = otlp()) collector->send(kept);
    done(std::move(outcome));
  };
}

void Service::replay(std::uint64_t number, const Change& change, const Tenants::Identity& identity,
                     std::shared_ptr<Caller> caller, Replayed done) {
  const auto before = paths_.find(number, identity);
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
  if (!other) {
    for (const PathRecord::Step& step : before->steps) {
      if (step.kind == "split") call.request.choices.emplace(step.node, step.taken);
    }
  }
  for (const auto& [name, value] : before->outputs) call.request.outputs.push_back({.name = name});
  call.done = [before, path = call.path, done = std::move(done)](Outcome now) { done(*before, std::move(now), *path); };
  infer(target, std::move(call));
}

namespace {

void check_control(ModelControl control, Service::Cause cause) {
  if (control != ModelControl::poll || cause == Service::Cause::poll) return;
  throw Refusal(Http::bad_request,
                "the models follow the folder (--model-control-mode poll): add, replace or remove their files");
}

}  // namespace

/// Loads a model whose files have changed, or unloads it if the folder has no such model any more.
void Service::follow(const std::string& name) {
  try {
    load(name, Cause::poll);
  } catch (const Refusal& refusal) {
    if (refusal.status() != Http::not_found || !repository()->has_model(name)) throw;
    unload(name, false, Cause::poll);
  }
}

void Service::load(std::string_view name, Cause cause) {
  check_control(options_.control, cause);
  const std::scoped_lock lock(loading_);
  const std::string model(name);
  try {
    const auto begun = Clock::now();
    swap_in(loader_->load(*repository(), model));
    inform(options_.notify, model_subject(model),
           "loaded " + versions_text(*repository(), model) + " in " + milliseconds_text(Clock::now() - begun));
  } catch (const api::Error& error) {
    warn(options_.notify, model_subject(model), std::string("not changed: ") + error.what());
    throw Refusal(Http::bad_request, error.what());
  }
}

void Service::unload(std::string_view name, bool dependents, Cause cause) {
  check_control(options_.control, cause);
  const std::scoped_lock lock(loading_);
  const auto before = repository();
  const auto after = Loader::unload(*before, std::string(name), dependents);
  swap_in(after);
  std::set<std::string> gone;
  for (const auto& served : before->all()) {
    if (!after->has_model(served->name())) gone.insert(served->name());
  }
  loader_->forget(gone);
  for (const std::string& model : gone) inform(options_.notify, model_subject(model), "unloaded");
}

/// Serves a version that becomes current. Throws if it cannot be served, which refuses the edit.
void Service::serve_edited(const std::string& name, const api::LiveModel& model, const api::Version& next) {
  const std::scoped_lock lock(loading_);
  if (registry().find(name) != model) return;
  swap_in(loader_->with_version(*repository(), name, next));
  inform(options_.notify, model_subject(name),
         "version " + std::to_string(next.number) + " is served: " + next.change +
             (next.note.author.empty() ? "" : ", by " + next.note.author));
}

std::shared_ptr<Otlp> Service::otlp() const {
  if (!sends_spans_.load(std::memory_order_relaxed)) return nullptr;
  const std::scoped_lock lock(mutex_);
  return otlp_;
}

Service::Reloaded Service::reload_config() try {
  const std::scoped_lock lock(loading_);
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
  const bool other_memory = next.state.memory_bytes != config_.state.memory_bytes;
  const bool other_count = next.state.max_sequences != config_.state.max_sequences;
  next.state = with_limits(config_.state, next.state);
  const bool other_collector = next.paths.otlp != config_.paths.otlp || next.paths.otlp_tls != config_.paths.otlp_tls;
  std::shared_ptr<Otlp> collector = other_collector ? collector_of(next.paths) : nullptr;
  const Loader::Reconfigured models = loader_->reconfigure(*repository(), next);
  for (const std::string& model : models.changed) reloaded.changed.push_back("models." + model);
  if (next.tenants != config_.tenants) {
    tenants_.replace(next.tenants);
    reloaded.changed.emplace_back("tenants");
  }
  if (next.network != config_.network) {
    gate_.replace(next.network.with(options_.network));
    reloaded.changed.emplace_back("network");
  }
  if (next.paths != config_.paths) {
    paths_.replace(next.paths);
    reloaded.changed.emplace_back("paths");
  }
  if (other_memory) reloaded.changed.emplace_back("state.memory");
  if (other_count) reloaded.changed.emplace_back("state.max_sequences");
  states_->set_limits(next.state.memory_bytes, next.state.max_sequences);
  if (other_collector) {
    const std::scoped_lock lock(mutex_);
    otlp_.swap(collector);
    sends_spans_ = otlp_ != nullptr;
  }
  swap_in(models.repository);
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

void Service::swap_in(std::shared_ptr<const Repository> repository) {
  const std::scoped_lock lock(mutex_);
  repository_.swap(repository);
}

void Service::start(const Served* target, InlineRunSlot* inline_slot, std::function<void()> work) {
  const bool quick = inline_slot != nullptr && target != nullptr && target->may_run_inline();
  if (quick && admission_.waiting() == 1 && inline_slot->take()) {
    return workers_.run_inline(std::move(work));
  }
  workers_.post(std::move(work));
}

}  // namespace frazil::server
