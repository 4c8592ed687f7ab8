#include "server/service/served_models.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "server/service/definition_keeper.h"
#include "server/service/label_values.h"

namespace frazil::server {
namespace {

Loader::Source source_of(const ServiceOptions& options, ServedModels::Edited edited) {
  std::error_code error;
  const std::string copies =
      options.copies.empty() ? std::filesystem::temp_directory_path(error).string() : options.copies;
  if (error) {
    throw api::Error(api::Code::bad_input, "there is no folder for temporary files (TMPDIR): give --copies");
  }
  return {.folder = options.folder,
          .copies = copies,
          .registry = options.registry,
          .governor = options.governor,
          .edited = std::move(edited)};
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

void check_control(ModelControl control, ServedModels::Cause cause) {
  if (control != ModelControl::poll || cause == ServedModels::Cause::poll) return;
  throw Refusal(Http::bad_request,
                "the models follow the folder (--model-control-mode poll): add, replace or remove their files");
}

}  // namespace

ServedModels::ServedModels(const ServiceOptions& options, Workers& workers, StateStore& states,
                           const PersonalNames& personal)
    : options_(options), workers_(workers), states_(states), personal_(personal) {}

void ServedModels::load_first(Edited edited) {
  const std::scoped_lock lock(loading_);
  loader_ = std::make_unique<Loader>(source_of(options_, std::move(edited)), options_.run, options_.config, workers_,
                                     states_, options_.notify);
  const bool some = options_.control == ModelControl::on_request;
  swap_in(options_.repository ? options_.repository
          : some              ? loader_->load_some(options_.load_models)
                              : loader_->load_all());
}

std::shared_ptr<const Repository> ServedModels::repository() const {
  const std::scoped_lock lock(mutex_);
  return repository_;
}

std::vector<std::shared_ptr<const Served>> ServedModels::seen_by(const Tenants::Identity& identity) const {
  auto models = repository()->all();
  std::erase_if(models, [&](const auto& served) { return !identity.may_use(served->name()); });
  return models;
}

std::vector<ServedModels::IndexEntry> ServedModels::index(const Tenants::Identity& identity, bool ready) const {
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

void ServedModels::add_not_loaded(const Repository& models, std::vector<IndexEntry>& index) const try {
  if (options_.repository) return;
  for (auto& [name, version] : loader_->list()) {
    if (models.has_model(name)) continue;
    index.push_back({.name = std::move(name), .version = std::move(version), .reason = "not loaded"});
  }
} catch (const api::Error& error) {  // its text has paths
  warn(options_.notify, "repository index", error.what());
  throw Refusal(Http::unavailable, "the folder of the models cannot be listed; the server's log has the reason");
}

std::shared_ptr<const Served> ServedModels::find(std::string_view name, std::string_view version) const {
  const auto models = repository();
  if (auto served = models->find(name, version)) return served;
  if (const auto why = models->why_not_ready(name, version)) throw Refusal(Http::unavailable, *why);
  const std::string of = version.empty() ? "" : " in version '" + std::string(version) + "'";
  throw Refusal(Http::not_found, "there is no model '" + std::string(name) + "'" + of);
}

void ServedModels::follow(const std::string& name) {
  try {
    load(name, Cause::poll);
  } catch (const Refusal& refusal) {
    if (refusal.status() != Http::not_found || !repository()->has_model(name)) throw;
    unload(name, false, Cause::poll);
  }
}

void ServedModels::load(std::string_view name, Cause cause) {
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
    record_failed_load(model, error.what());
    throw Refusal::plain(Http::bad_request, error.what());
  }
}

/// Records a load that fails for another reason than the policy, which records its refusals itself.
void ServedModels::record_failed_load(const std::string& model, std::string_view reason) const {
  if (options_.audit == nullptr || reason.contains("the policy refuses ")) return;
  options_.audit->append_durable(
      {{"kind", "refuse"}, {"hook", "load"}, {"rule", "reader"}, {"reason", reason}, {"model", model}});
}

void ServedModels::unload(std::string_view name, bool dependents, Cause cause) {
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

void ServedModels::serve_edited(const std::string& name, const api::LiveModel& model, const api::Version& next) {
  const std::scoped_lock lock(loading_);
  if (options_.registry->find(name) != model) return;
  swap_in(loader_->with_version(*repository(), name, next));
  inform(options_.notify, model_subject(name),
         "version " + std::to_string(next.number) + " is served: " + next.change +
             (next.note.author.empty() ? "" : ", by " + next.note.author));
}

std::vector<std::string> ServedModels::reconfigure(const ServerConfig& config) {
  const std::scoped_lock lock(loading_);
  Loader::Reconfigured made = loader_->reconfigure(*repository(), config);
  swap_in(std::move(made.repository));
  return std::move(made.changed);
}

/// Labels the versions that have no labels yet. Labels of a version do not change: a version with another configuration
/// is another object, and pipelines are recreated with the models that they call.
void ServedModels::label(const Repository& models) {
  bool declared = !personal_.personal.empty();
  for (const auto& served : models.all()) {
    declared |= !served->personal().empty();
    if (served->governance().labels != nullptr) continue;
    served->governance().labels = std::make_shared<const Labels>(labels_of(*served, personal_));
  }
  has_personal_ = declared;
}

/// Records the definitions that a server without a policy is about to serve. A policy records them itself.
void ServedModels::record_loads(const Repository& models) {
  if (options_.audit == nullptr || options_.governor != nullptr) return;
  for (const auto& served : models.all()) {
    std::string& recorded = recorded_[{served->name(), served->version()}];
    if (recorded == served->digest()) continue;
    recorded = served->digest();
    options_.audit->append_durable({{"kind", "load"},
                                    {"model", served->name()},
                                    {"version", served->version()},
                                    {"definition", recorded},
                                    {"policy", "none"},
                                    {"rule", "none"}});
  }
}

void ServedModels::swap_in(std::shared_ptr<const Repository> repository) {
  record_loads(*repository);
  if (options_.keeper != nullptr) options_.keeper->keep(*repository);
  label(*repository);
  const std::scoped_lock lock(mutex_);
  repository_.swap(repository);
}

}  // namespace frazil::server
