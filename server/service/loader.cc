#include "server/service/loader.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <frazil/error.h>

#include "govern/gate/governor.h"
#include "server/config/config_pbtxt.h"
#include "server/model/canary.h"
#include "server/model/served_model.h"
#include "server/pipeline/pipeline.h"
#include "server/service/served_reports.h"

namespace frazil::server {

namespace fs = std::filesystem;

/// A model or pipeline of the folder.
struct Loader::Entry {
  std::string name;
  std::map<std::uint64_t, fs::path> versions;  ///< number to file
  std::optional<fs::path> config;              ///< config.pbtxt
  std::optional<fs::path> pipeline;            ///< NAME.yaml, instead of versions
};

namespace {

constexpr std::string_view kEndings[] = {".onnx", ".frzc"};
constexpr const char* kCanaries = "canary";  // folder of samples: of a version, or of all versions

bool is_model_file(const fs::directory_entry& entry) {
  return entry.is_regular_file() &&
         std::ranges::find(kEndings, entry.path().extension().string()) != std::end(kEndings);
}

/// Returns true if the folder of a version contains a model.
bool has_model(const fs::path& version) {
  return std::ranges::any_of(kEndings,
                             [&](auto ending) { return fs::exists(version / ("model" + std::string(ending))); });
}

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) entries.push_back(*at);
  if (error) throw api::Error(api::Code::bad_input, folder.string() + ": " + error.message());
  std::ranges::sort(entries, {}, &fs::directory_entry::path);
  return entries;
}

std::optional<fs::path> first_folder(std::initializer_list<fs::path> folders) {
  for (const fs::path& folder : folders) {
    std::error_code none;
    if (fs::is_directory(folder, none)) return folder;
  }
  return std::nullopt;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw api::Error(api::Code::bad_input, file.string() + ": the labels cannot be read");
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Removes versions that the policy excludes.
template <class T>
void apply(const VersionPolicy& policy, std::map<std::uint64_t, T>& versions) {
  using Kind = VersionPolicy::Kind;
  if (policy.kind == Kind::latest) {
    while (versions.size() > policy.latest) versions.erase(versions.begin());
  } else if (policy.kind == Kind::specific) {
    std::erase_if(versions,
                  [&](const auto& v) { return std::ranges::find(policy.specific, v.first) == policy.specific.end(); });
  }
}

/// Returns the model's settings in the server's configuration; nullopt: the model's own file applies.
std::optional<ModelConfig> given_for(const std::string& model, const ServerConfig& config) {
  const auto at = config.models.find(model);
  return at == config.models.end() ? std::nullopt : std::optional(at->second);
}

/// Disables regrouping if it is configured as `where_it_pays` and does not pay.
void regroup_where_it_pays(const std::string& name, ServedModel::Parts& parts, const NoticeSink& notify) {
  Batching& batching = parts.config.batching;
  if (batching.regroup != Regroup::where_it_pays || batching.most == 0) return;
  if (parts.model.calls().empty() && api::BatchedModel(parts.model).pays()) return;
  inform(notify, model_subject(name),
         parts.model.calls().empty()
             ? "requests run alone, as its weights are too small for regrouping to pay; 'regroup: always' insists"
             : "requests run alone, as it calls other models");
  batching.most = 1;
}

}  // namespace

void check_load_parameter(std::string_view name) {
  if (name != "config" && !name.starts_with("file:")) return;
  throw Refusal(Http::unsupported,
                "parameter " + std::string(name) + ": models are loaded from the folder; put the file there");
}

Loader::Loader(Source source, api::Options options, ServerConfig config, Workers& workers, StateStore& states,
               NoticeSink notify)
    : source_(std::move(source)),
      options_(std::move(options)),
      config_(std::move(config)),
      workers_(workers),
      states_(states),
      notify_(std::move(notify)),
      check_(std::make_shared<std::atomic<double>>(config_.paths.check)) {}

std::vector<Loader::Entry> Loader::entries() const {
  std::map<std::string, Entry> found;
  std::vector<fs::path> pipelines;
  const auto add = [&](const std::string& name, std::uint64_t version, const fs::path& file) {
    Entry& entry = found[name];
    entry.name = name;
    if (entry.versions.emplace(version, file).second) return;
    throw api::Error(api::Code::bad_input,
                     file.string() + ": model '" + name + "' has version " + std::to_string(version) + " twice");
  };
  for (const fs::directory_entry& entry : entries_of(source_.folder)) {
    if (is_model_file(entry)) add(entry.path().stem().string(), 1, entry.path());
    if (entry.is_regular_file() && entry.path().extension() == ".yaml") pipelines.push_back(entry.path());
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename().string();
    for (const fs::directory_entry& inner : entries_of(entry.path())) {
      const auto version = version_from(inner.path().filename().string());
      if (!inner.is_directory() || !version) continue;
      for (const std::string_view ending : kEndings) {
        const fs::path file = inner.path() / ("model" + std::string(ending));
        if (fs::exists(file)) add(name, *version, file);
      }
    }
    const fs::path config = entry.path() / "config.pbtxt";
    if (found.contains(name) && fs::exists(config)) found[name].config = config;
  }
  for (const fs::path& file : pipelines) {
    const std::string name = file.stem().string();
    if (found.contains(name)) {
      throw api::Error(api::Code::bad_input, file.string() + ": there is a model '" + name + "', too");
    }
    found[name] = {.name = name, .pipeline = file};
  }
  std::vector<Entry> list;
  for (auto& [name, entry] : found) list.push_back(std::move(entry));
  return list;
}

std::vector<Loader::Listed> Loader::list() const {
  std::vector<Listed> list;
  for (const Entry& entry : entries()) {
    if (entry.pipeline) list.push_back({.name = entry.name, .version = "1"});
    for (const auto& [number, file] : entry.versions) {
      list.push_back({.name = entry.name, .version = std::to_string(number)});
    }
  }
  return list;
}

ModelConfig Loader::config_of(const Entry& entry, const ServerConfig& config) const {
  if (const auto given = given_for(entry.name, config)) return *given;
  if (!entry.config) return {};
  ReadConfig read = read_config_pbtxt(entry.config->string());
  for (std::string& warning : read.warnings) warn(notify_, model_subject(entry.name), std::move(warning));
  if (!read.name.empty() && read.name != entry.name) {
    throw api::Error(api::Code::bad_input, entry.config->string() + ": the name '" + read.name +
                                               "' is not that of the folder, '" + entry.name + "'");
  }
  return std::move(read.config);
}

namespace {

/// Returns true for an input with a default that may be a weight rather than an option.
bool may_be_weight(const api::Port& port) {
  return port.optional && port.kind == api::Array::Kind::tensor && !port.dims.empty();
}

std::string quoted(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) ((text += text.empty() ? "'" : ", '") += name) += '\'';
  return text;
}

}  // namespace

/// Loads a version, with the defaults fixed that requests may not override. Its calls are not checked.
api::Model Loader::model_of(const Entry& entry, std::uint64_t number, const ModelConfig& config,
                            govern::LoadContext context) const {
  govern::Governor* const governor = source_.governor.get();
  api::LoadOptions how{.policy = governor == nullptr
                                     ? nullptr
                                     : governor->for_model({entry.name, std::to_string(number)},
                                                           govern::RunChecks::at_admission, std::move(context)),
                       .copies = source_.copies,
                       .registry = source_.registry,
                       .check_calls = false};
  how.fix_defaults =
      config.defaults == Defaults::fixed || (config.defaults == Defaults::usual && !config.inputs.empty());
  for (const DeclaredPort& port : config.inputs) how.keep_defaults.push_back(port.name);
  for (const StateLink& link : config.sequences.states) how.keep_defaults.push_back(link.input);
  api::Model model = api::Model::load(entry.versions.at(number).string(), how);
  std::vector<std::string> open;
  for (const api::Port& port : model.inputs()) {
    const bool meant = std::ranges::find(how.keep_defaults, port.name) != how.keep_defaults.end();
    if (!meant && may_be_weight(port)) open.push_back(port.name);
  }
  if (open.empty() || config.defaults == Defaults::inputs) return model;
  if (how.fix_defaults) {
    throw api::Error(api::Code::bad_input, "model '" + entry.name + "': the defaults of inputs " + quoted(open) +
                                               " cannot be fixed in a package: compile it from a model without them");
  }
  warn(notify_, model_subject(entry.name),
       "every request may replace the defaults of inputs " + quoted(open) +
           ", which may be weights: set defaults to fixed, or to inputs if that is meant");
  return model;
}

/// Makes a version ready to be served.
std::shared_ptr<Served> Loader::version_of(const Entry& entry, std::uint64_t number, const ModelConfig& config,
                                           const api::Model& model) const {
  const fs::path beside = fs::path(source_.folder) / entry.name;
  ServedModel::Parts parts{
      .model = model, .config = config, .options = options_, .workers = &workers_, .states = &states_, .check = check_};
  for (const auto& [output, file] : config.labels) parts.labels[output] = lines_of(beside / file);
  regroup_where_it_pays(entry.name, parts, notify_);
  const std::string version = std::to_string(number);
  const auto canaries = first_folder({beside / version / kCanaries, beside / kCanaries});
  if (!canaries) return std::make_shared<ServedModel>(entry.name, version, std::move(parts));
  const auto count = [&](std::uint64_t CanaryCounts::* outcome) {
    const std::scoped_lock lock(mutex_);
    ++(canary_counts_[{entry.name, version}].*outcome);
  };
  try {
    parts.canaries = read_canaries(canaries->string(), parts.model);
    auto served = std::make_shared<ServedModel>(entry.name, version, std::move(parts));
    count(&CanaryCounts::passed);
    return served;
  } catch (const CanaryFault&) {
    count(&CanaryCounts::failed);
    throw;
  }
}

/// The loads of models for one change of the repository. Each is loaded after the models that it calls, and registered.
/// The destructor restores the registry, unless keep() was called.
class Loader::ModelLoads {
 public:
  /// `faults_are_kept`: versions that fail their canaries become not ready; otherwise the load throws.
  ModelLoads(const Loader& loader, const std::vector<Entry>& list, const ServerConfig& config,
             std::shared_ptr<const Repository> repository, bool faults_are_kept)
      : loader_(loader),
        list_(list),
        config_(config),
        repository_(std::move(repository)),
        faults_are_kept_(faults_are_kept) {}
  ~ModelLoads() {
    for (const auto& [name, model] : before_) {
      model ? registry().put(name, *model) : registry().remove(name);
    }
  }
  ModelLoads(const ModelLoads&) = delete;
  ModelLoads& operator=(const ModelLoads&) = delete;

  /// Loads a model again, and the models that it calls if they are not served. Throws as Loader::load().
  void load(const Entry& entry) {
    if (done_.contains(entry.name)) return;
    begun_.push_back(entry.name);
    const ModelConfig config = loader_.config_of(entry, config_);
    auto files = entry.versions;
    apply(config.versions, files);
    if (files.empty()) {
      throw api::Error(api::Code::bad_input,
                       "model '" + entry.name + "': its version policy leaves no version to serve");
    }
    Repository::Versions versions;
    std::map<std::uint64_t, std::string> faults;
    for (const auto& [number, file] : files) {
      try {
        versions[number] = version_of(entry, number, config, number == files.rbegin()->first);
      } catch (const CanaryFault& fault) {
        const std::string text = shown_text(fault);
        if (!faults_are_kept_) throw CanaryFault(place_of(entry.name, number) + ": " + text);
        faults[number] = text;
      }
    }
    add(entry.name, versions, faults);
    begun_.pop_back();
  }
  const std::shared_ptr<const Repository>& repository() const { return repository_; }
  /// Checks that models which were not loaded again can call those that were. Throws api::Error.
  void check_callers() const {
    for (const auto& served : repository_->all()) {
      const auto* const model = dynamic_cast<const ServedModel*>(served.get());
      if (model == nullptr || done_.contains(model->name())) continue;
      const auto calls = model->model().calls();
      if (std::ranges::none_of(calls, [&](const auto& call) { return done_.contains(call.model); })) continue;
      check(model->model(), "model '" + model->name() + "' version " + model->version());
    }
  }
  /// Records the loads, and keeps them. Throws api::Error if they cannot be recorded.
  void keep() {
    if (const auto& governor = loader_.source_.governor) governor->record_pending(*pending_);
    before_.clear();
  }
  govern::PendingEvents* pending() const { return pending_.get(); }

 private:
  api::Registry& registry() const { return *loader_.source_.registry; }
  static std::string place_of(const std::string& model, std::uint64_t number) {
    return "model '" + model + "' version " + std::to_string(number);
  }
  static void check(const api::Model& model, const std::string& place) try {
    model.check_calls();
  } catch (const api::Error& error) {
    throw api::Error(error.code(), place + ": " + error.what());
  }

  /// Returns the served model whose requests a version will get, if any. Requests without a version get the newest.
  std::optional<api::Model> replaced_by(const std::string& name, std::uint64_t number, bool newest) const {
    auto served = newest ? nullptr : repository_->find(name, std::to_string(number));
    if (served == nullptr) served = repository_->find(name, "");
    const auto* const model = dynamic_cast<const ServedModel*>(served.get());
    return model == nullptr ? std::nullopt : std::optional(model->model());
  }

  std::shared_ptr<Served> version_of(const Entry& entry, std::uint64_t number, const ModelConfig& config, bool newest) {
    const api::Model model =
        loader_.model_of(entry, number, config, {replaced_by(entry.name, number, newest), pending_});
    for (const api::ModelCall& call : model.calls()) need(call, place_of(entry.name, number));
    check(model, place_of(entry.name, number));
    auto served = loader_.version_of(entry, number, config, model);
    if (const auto old = repository_->find(entry.name, served->version())) served->continue_counts_of(*old);
    return served;
  }

  /// Makes sure that a called model is registered. `place` names the caller.
  void need(const api::ModelCall& call, const std::string& place) {
    const std::string where = place + ": " + call.node;
    if (std::ranges::find(begun_, call.model) != begun_.end()) {
      throw api::Error(api::Code::bad_input, where + ": models call each other in a circle: " + circle(call.model));
    }
    const auto at = std::ranges::find(list_, call.model, &Entry::name);
    if (at != list_.end() && at->pipeline) {
      throw api::Error(api::Code::bad_input, where + ": '" + call.model + "' is a pipeline; graphs call models only");
    }
    if (at != list_.end() && repository_->find(call.model, "") == nullptr) load(*at);
    const std::string version = call.version == 0 ? "" : std::to_string(call.version);
    if (const auto why = repository_->why_not_ready(call.model, version)) throw CanaryFault(call.node + ": " + *why);
    if (at != list_.end() || registry().find(call.model)) return;
    throw api::Error(api::Code::bad_input, where + ": there is no model '" + call.model + "': add " + call.model +
                                               ".onnx or " + call.model + "/1/model.onnx to the folder");
  }

  std::string circle(const std::string& model) const {
    std::string text;
    for (auto at = std::ranges::find(begun_, model); at != begun_.end(); ++at) text += "'" + *at + "', ";
    return text + "'" + model + "'";
  }

  void add(const std::string& name, const Repository::Versions& versions,
           const std::map<std::uint64_t, std::string>& faults) {
    warn_of_edits(name);
    repository_ = repository_->with(name, versions);
    for (const auto& [version, why] : faults) {
      repository_ = repository_->with_not_ready({.name = name, .version = version, .reason = why});
    }
    set(name, versions);
    done_.insert(name);
  }

  /// Reports versions that are not in the folder and are therefore no longer served.
  void warn_of_edits(const std::string& name) const {
    const auto before = registry().find(name);
    if (!before) return;
    for (const api::Version& version : before->history()) {
      if (version.change == "first") continue;
      inform(loader_.notify_, model_subject(name),
             "version " + std::to_string(version.number) + " (" + version.change +
                 ") is not served any more, because the model was loaded from the folder again");
    }
  }

  /// Registers the versions of a model, or removes the model if there are none.
  void set(const std::string& name, const Repository::Versions& versions) {
    auto before = registry().find(name);
    if (versions.empty() && !before) return;
    before_.emplace_back(name, std::move(before));
    if (versions.empty()) return registry().remove(name);
    std::map<std::uint64_t, api::Model> models;
    for (const auto& [number, served] : versions) {
      models.emplace(number, dynamic_cast<const ServedModel&>(*served).model());
    }
    api::LiveModel live(models, loader_.options_);
    live.set_check([name, edited = loader_.source_.edited](const api::LiveModel& of, const api::Version& next) {
      if (edited) edited(name, of, next);
    });
    registry().put(name, live);
  }

  /// Returns the text of a fault, without the values of the canary if values may be personal.
  std::string shown_text(const CanaryFault& fault) const {
    const std::string text = fault.what();
    if (!config_.has_personal()) return text;
    const std::size_t name = text.find("': ");
    return (name == std::string::npos ? "a canary" : text.substr(0, name + 1)) +
           " is not reproduced; the details are hidden, as they may contain personal data";
  }

  const Loader& loader_;
  const std::vector<Entry>& list_;
  const ServerConfig& config_;
  std::shared_ptr<const Repository> repository_;
  const bool faults_are_kept_;
  const std::shared_ptr<govern::PendingEvents> pending_ = std::make_shared<govern::PendingEvents>();
  std::vector<std::string> begun_;  ///< the models that are being loaded, each called by the one before it
  std::set<std::string> done_;
  std::vector<std::pair<std::string, std::optional<api::LiveModel>>> before_;  ///< what the registry had
};

std::map<std::pair<std::string, std::string>, Loader::CanaryCounts> Loader::canary_counts() const {
  const std::scoped_lock lock(mutex_);
  return canary_counts_;
}

/// Recreates outdated pipelines, each after the pipelines that it uses. Unchanged pipelines are kept.
class Loader::Updater {
 public:
  /// `anew`: a pipeline to reload in any case; empty: none.
  Updater(const std::vector<Entry>& list, std::shared_ptr<const Repository> repository, std::string anew,
          Workers& workers, const NoticeSink& notify, PipelineRules rules, govern::PendingEvents* pending)
      : list_(list),
        repository_(std::move(repository)),
        anew_(std::move(anew)),
        workers_(workers),
        notify_(notify),
        rules_(std::move(rules)),
        pending_(pending) {}

  std::shared_ptr<const Repository> run() && {
    for (const Entry& entry : list_) {
      if (entry.pipeline) update(entry);
    }
    return repository_;
  }

 private:
  /// Updates a pipeline. If it cannot be created because a model is not ready, it becomes not ready, too, unless it was
  /// requested by name.
  void update(const Entry& entry) {
    if (done_.contains(entry.name)) return;
    const std::string file = entry.pipeline->string();
    if (!begun_.insert(entry.name).second) {
      throw api::Error(api::Code::bad_input, file + ": the pipeline needs itself");
    }
    const auto before = std::dynamic_pointer_cast<const Pipeline>(repository_->find(entry.name, ""));
    if (before == nullptr && entry.name != anew_) {
      read_if_ready(entry);
    } else if (entry.name == anew_ || !stays(*before)) {
      read(entry, before.get());
    }
    done_.insert(entry.name);
  }

  void read_if_ready(const Entry& entry) try { read(entry, nullptr); } catch (const api::Error& error) {
    const auto needed = models_of_pipeline(entry.pipeline->string());
    const bool waits = std::ranges::any_of(needed, [&](const auto& m) { return repository_->lacks_version_of(m); });
    if (!waits) throw;
    repository_ = repository_->with(entry.name, {});
    repository_ = repository_->with_not_ready({.name = entry.name, .version = 1, .reason = error.what()});
  }

  bool stays(const Pipeline& pipeline) {
    for (const Pipeline::Use& use : pipeline.uses()) update_named(use.model);
    return pipeline.is_up_to_date(*repository_);
  }

  void read(const Entry& entry, const Pipeline* before) {
    const std::string file = entry.pipeline->string();
    for (const std::string& needed : models_of_pipeline(file)) update_named(needed);
    std::shared_ptr<Pipeline> pipeline =
        read_pipeline(file, entry.name, *repository_, before, workers_, notify_, rules_);
    check_policy(*pipeline, before);
    if (before != nullptr) pipeline->continue_counts_of(*before);
    repository_ = repository_->with(entry.name, {{1, std::move(pipeline)}});
  }

  void check_policy(const Pipeline& pipeline, const Pipeline* before) const {
    if (rules_.governor == nullptr) return;
    ServedReports reports(rules_.governor->report_options()), old(rules_.governor->report_options());
    const bool changed = before != nullptr && before->own_digest() != pipeline.own_digest();
    const govern::Json* const replaced = changed ? &old.of(*before) : nullptr;
    const govern::ServedName name{pipeline.name(), pipeline.version()};
    if (const auto reason = rules_.governor->check_pipeline(reports.of(pipeline), name, replaced, pending_)) {
      throw api::Error(api::Code::bad_input, "the policy refuses pipeline '" + pipeline.name() + "': " + *reason);
    }
  }

  void update_named(const std::string& name) {
    const auto at = std::ranges::find(list_, name, &Entry::name);
    if (at != list_.end() && at->pipeline) update(*at);
  }

  const std::vector<Entry>& list_;
  std::shared_ptr<const Repository> repository_;
  const std::string anew_;
  Workers& workers_;
  const NoticeSink& notify_;
  const PipelineRules rules_;
  govern::PendingEvents* const pending_;  ///< null: events are recorded immediately
  std::set<std::string> begun_, done_;
};

void Loader::check_models(const ServerConfig& config, const std::vector<Entry>& list) {
  for (const auto& [name, of_model] : config.models) {
    if (std::ranges::find(list, name, &Entry::name) != list.end()) continue;
    throw api::Error(api::Code::bad_input, "the configuration has model '" + name + "', the folder does not");
  }
}

namespace {

constexpr const char* kModelForm = "expected VERSION/model.onnx or VERSION/model.frzc in it";

/// Returns the versions in a model's folder that have no file.
std::vector<std::string> empty_versions(const fs::path& folder) {
  std::vector<std::string> empty;
  for (const fs::directory_entry& inner : entries_of(folder)) {
    const std::string name = inner.path().filename().string();
    if (inner.is_directory() && version_from(name) && !has_model(inner.path())) empty.push_back(name);
  }
  return empty;
}

/// Returns why a folder does not contain a model: the error of its config.pbtxt, if any.
std::string reason_of(const fs::path& folder) try {
  const fs::path config = folder / "config.pbtxt";
  if (fs::exists(config)) (void)read_config_pbtxt(config.string());
  return kModelForm;
} catch (const api::Error& error) {
  return error.what();
}

}  // namespace

void Loader::warn_of_skipped(const std::vector<Entry>& list) const {
  for (const fs::directory_entry& entry : entries_of(source_.folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name.starts_with('.') || name == "lost+found") continue;
    const bool known = std::ranges::find(list, name, &Entry::name) != list.end();
    if (!known) warn(notify_, model_subject(name), "the folder is skipped: " + reason_of(entry.path()));
    if (!known) continue;
    for (const std::string& version : empty_versions(entry.path())) {
      warn(notify_, model_subject(name), "version " + version + " is skipped: it has no model.onnx or model.frzc");
    }
  }
}

PipelineRules Loader::rules_of(const ServerConfig& config) const {
  return {
      .hides_details = config.has_personal(), .least_sandbox = config.governance.sandbox, .governor = source_.governor};
}

std::shared_ptr<const Repository> Loader::load_all() const {
  const std::vector<Entry> list = entries();
  check_models(config_, list);
  warn_of_skipped(list);
  if (list.empty()) {
    warn(notify_, "server",
         source_.folder + ": there is no model: add NAME.onnx, NAME.frzc or NAME/VERSION/model.onnx");
  }
  ModelLoads loads(*this, list, config_, std::make_shared<const Repository>(), true);
  for (const Entry& entry : list) {
    if (!entry.pipeline) loads.load(entry);
  }
  const auto repository =
      Updater(list, loads.repository(), "", workers_, notify_, rules_of(config_), loads.pending()).run();
  loads.keep();
  for (const Repository::NotReady& one : repository->not_ready()) {
    warn(notify_, model_subject(one.name), "version " + std::to_string(one.version) + " is not ready: " + one.reason);
  }
  return repository;
}

/// Removes unloaded pipelines from the list, so that they are not loaded again with their models.
void Loader::drop_unloaded(std::vector<Entry>& list, const Repository& from, const std::set<std::string>& but) {
  std::erase_if(list, [&](const Entry& entry) {
    return entry.pipeline && !but.contains(entry.name) && !from.has_model(entry.name);
  });
}

/// Returns a model or pipeline with everything that it needs.
std::set<std::string> Loader::needed_by(const std::vector<Entry>& list, const std::string& name) {
  std::set<std::string> needed{name};
  std::vector<std::string> open{name};
  while (!open.empty()) {
    const auto at = std::ranges::find(list, open.back(), &Entry::name);
    open.pop_back();
    if (at == list.end() || !at->pipeline) continue;
    for (const std::string& one : models_of_pipeline(at->pipeline->string())) {
      if (needed.insert(one).second) open.push_back(one);
    }
  }
  return needed;
}

Loader::Reconfigured Loader::reconfigure(const Repository& from, const ServerConfig& config) {
  std::vector<Entry> list = entries();
  check_models(config, list);
  Reconfigured made;
  ModelLoads loads(*this, list, config, std::make_shared<const Repository>(from), false);
  for (const Entry& entry : list) {
    const bool same = given_for(entry.name, config_) == given_for(entry.name, config);
    if (entry.pipeline || same || !from.has_model(entry.name)) continue;
    loads.load(entry);
    made.changed.push_back(entry.name);
  }
  loads.check_callers();
  std::vector<Entry> rest = list;
  drop_unloaded(rest, from, {});
  made.repository = Updater(rest, loads.repository(), "", workers_, notify_, rules_of(config), loads.pending()).run();
  loads.keep();
  config_ = config;
  *check_ = config.paths.check;
  return made;
}

std::shared_ptr<const Repository> Loader::load(const Repository& from, const std::string& name) const {
  std::vector<Entry> list = entries();
  const auto at = std::ranges::find(list, name, &Entry::name);
  if (at == list.end()) {
    const fs::path folder = fs::path(source_.folder) / name;
    const bool skipped = name.find('/') == std::string::npos && fs::is_directory(folder);
    throw Refusal(Http::not_found,
                  "the folder has no model '" + name + "'" + (skipped ? ": " + reason_of(folder) : ""));
  }
  ModelLoads loads(*this, list, config_, std::make_shared<const Repository>(from), false);
  const std::set<std::string> needed = needed_by(list, name);
  for (const Entry& entry : list) {
    if (entry.pipeline || !needed.contains(entry.name)) continue;
    if (entry.name == name || !from.has_model(entry.name)) loads.load(entry);
  }
  loads.check_callers();
  std::vector<Entry> rest = list;
  drop_unloaded(rest, from, needed);
  auto repository =
      Updater(rest, loads.repository(), name, workers_, notify_, rules_of(config_), loads.pending()).run();
  loads.keep();
  return repository;
}

std::shared_ptr<const Repository> Loader::with_version(const Repository& from, const std::string& name,
                                                       const api::Version& version) const {
  std::vector<Entry> list = entries();
  const auto at = std::ranges::find(list, name, &Entry::name);
  if (at == list.end()) throw api::Error(api::Code::bad_input, "the folder has no model '" + name + "' any more");
  const ModelConfig config = config_of(*at, config_);
  Repository::Versions versions;
  for (const auto& served : from.versions(name)) versions[version_from(served->version()).value()] = served;
  versions[version.number] = version_of(*at, version.number, config, version.model);
  apply(config.versions, versions);
  auto models = from.with(name, std::move(versions));
  for (const auto& fault : from.not_ready()) {
    if (fault.name == name) models = models->with_not_ready(fault);
  }
  drop_unloaded(list, from, {});
  return Updater(list, std::move(models), "", workers_, notify_, rules_of(config_), nullptr).run();
}

void Loader::forget(const std::set<std::string>& names) const {
  for (const std::string& name : names) {
    if (source_.registry->find(name)) source_.registry->remove(name);
  }
}

std::shared_ptr<const Repository> Loader::load_some(const std::vector<std::string>& names) const {
  if (std::ranges::find(names, "*") != names.end()) return load_all();
  check_models(config_, entries());
  auto repository = std::make_shared<const Repository>();
  for (const std::string& name : names) {
    try {
      if (!repository->has_model(name)) repository = load(*repository, name);
    } catch (const Refusal& refusal) {
      throw api::Error(api::Code::bad_input, refusal.what());
    }
  }
  return repository;
}

namespace {

/// Returns the names of the models and pipelines that one needs.
std::vector<std::string> needs_of(const Served& served) {
  std::vector<std::string> names;
  if (const auto* const pipeline = dynamic_cast<const Pipeline*>(&served)) {
    for (const Pipeline::Use& use : pipeline->uses()) names.push_back(use.model);
  }
  if (const auto* const model = dynamic_cast<const ServedModel*>(&served)) {
    for (const api::ModelCall& call : model->model().calls()) names.push_back(call.model);
  }
  return names;
}

/// Returns a model or pipeline that needs a model; null if there is none.
std::shared_ptr<const Served> user_of(const Repository& models, const std::string& name) {
  for (auto& served : models.all()) {
    const auto needs = needs_of(*served);
    if (served->name() != name && std::ranges::find(needs, name) != needs.end()) return std::move(served);
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const Repository> Loader::unload(const Repository& from, const std::string& name, bool dependents) {
  if (!from.has_model(name)) throw Refusal(Http::not_found, "there is no model '" + name + "'");
  if (const auto user = user_of(from, name)) {
    const bool is_pipeline = dynamic_cast<const Pipeline*>(user.get()) != nullptr;
    throw Refusal(Http::bad_request,
                  (is_pipeline ? "pipeline '" : "model '") + user->name() + "' needs model '" + name + "'");
  }
  const auto newest = from.find(name, "");
  auto models = from.with(name, {});
  if (!dependents || newest == nullptr) return models;
  for (const std::string& needed : needs_of(*newest)) {
    if (models->has_model(needed) && user_of(*models, needed) == nullptr) models = unload(*models, needed, true);
  }
  return models;
}

}  // namespace frazil::server
