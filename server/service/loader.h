#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <frazil/live.h>
#include <frazil/registry.h>
#include <frazil/session.h>

#include "server/config/server_config.h"
#include "server/core/notice.h"
#include "server/core/workers.h"
#include "server/model/repository.h"
#include "server/pipeline/pipeline.h"
#include "server/state/state_store.h"

namespace frazil::govern {
class Governor;
struct LoadContext;
}  // namespace frazil::govern

namespace frazil::server {

/// Throws Refusal (unsupported) for a load parameter that supplies a configuration or files.
void check_load_parameter(std::string_view name);

/// Loads models and pipelines from a folder in Triton's layout. Versions are NAME/VERSION/model.onnx or model.frzc,
/// with an optional NAME/config.pbtxt. NAME.onnx and NAME.frzc are version 1, and NAME.yaml is a pipeline. Only one
/// function may run at a time.
///
/// Served versions of models are in a registry, so that nodes frazil.Call of their graphs run them. A model is loaded
/// after the models that it calls. If a function throws, the registry is as before.
class Loader {
 public:
  struct Source {
    std::string folder;                               ///< folder of the models
    std::string copies;                               ///< folder for copies of served model files; see api::LoadOptions
    std::shared_ptr<api::Registry> registry;          ///< receives the served models; not null
    std::shared_ptr<govern::Governor> governor = {};  ///< the policy of models and pipelines; null: none
    std::function<void(const std::string& model, const api::LiveModel&, const api::Version&)> edited;
    ///< called before an edit of a registered model takes effect
  };
  /// `notify` receives warnings about ignored settings and files, and later problems of loaded models.
  Loader(Source source, api::Options options, ServerConfig config, Workers& workers, StateStore& states,
         NoticeSink notify);

  /// Loads everything in the folder. Versions that fail their canaries, and pipelines that use them, are not ready.
  /// A folder without models is a warning. Throws api::Error if the folder cannot be read, and for a model or pipeline
  /// that cannot be loaded.
  std::shared_ptr<const Repository> load_all() const;
  /// Loads some models and pipelines of the folder, as load(). The name "*" loads everything. Throws as load_all(), and
  /// for a name that the folder does not contain.
  std::shared_ptr<const Repository> load_some(const std::vector<std::string>& names) const;
  /// Returns `from` with one model or pipeline reloaded from the folder, and with the pipelines that use it recreated.
  /// Loads the models and pipelines that it needs if `from` lacks them. Throws as load_all(), also for a failed canary,
  /// and not_found if the folder does not contain it.
  std::shared_ptr<const Repository> load(const Repository& from, const std::string& name) const;
  /// Returns `from` with a version of a model that was edited. The configuration of the folder applies to it. Throws as
  /// load().
  std::shared_ptr<const Repository> with_version(const Repository& from, const std::string& name,
                                                 const api::Version& version) const;
  /// Removes models that are not served from the registry.
  void forget(const std::set<std::string>& names) const;
  /// Returns `from` without a model or pipeline. `dependents`: also without the models and pipelines that it needs, if
  /// no other one needs them. Throws Refusal (bad_request) if a model or pipeline needs it.
  static std::shared_ptr<const Repository> unload(const Repository& from, const std::string& name, bool dependents);

  struct Reconfigured {
    std::shared_ptr<const Repository> repository;
    std::vector<std::string> changed;  ///< models that were reloaded
  };
  /// Applies another configuration. Returns `from` with the affected models reloaded, and the pipelines that use them
  /// recreated. Throws as load_all(); the configuration then stays unchanged.
  Reconfigured reconfigure(const Repository& from, const ServerConfig& config);

  /// A version in the folder.
  struct Listed {
    std::string name, version;
  };
  /// Returns the versions of models and pipelines in the folder, sorted by name and version. Thread-safe. Throws as
  /// load_all().
  std::vector<Listed> list() const;

  /// The number of passed and failed canary checks of a version.
  struct CanaryCounts {
    std::uint64_t passed = 0, failed = 0;
  };
  /// Returns the counts by name and version. Thread-safe.
  std::map<std::pair<std::string, std::string>, CanaryCounts> canary_counts() const;

 private:
  struct Entry;
  class Updater;
  class ModelLoads;
  std::vector<Entry> entries() const;
  static void check_models(const ServerConfig& config, const std::vector<Entry>& list);
  static std::set<std::string> needed_by(const std::vector<Entry>& list, const std::string& name);
  static void drop_unloaded(std::vector<Entry>& list, const Repository& from, const std::set<std::string>& but);
  ModelConfig config_of(const Entry& entry, const ServerConfig& config) const;
  api::Model model_of(const Entry& entry, std::uint64_t number, const ModelConfig& config,
                      govern::LoadContext context) const;
  PipelineRules rules_of(const ServerConfig& config) const;
  void warn_of_skipped(const std::vector<Entry>& list) const;
  std::shared_ptr<Served> version_of(const Entry& entry, std::uint64_t number, const ModelConfig& config,
                                     const api::Model& model) const;

  Source source_;
  api::Options options_;
  ServerConfig config_;
  Workers& workers_;
  StateStore& states_;
  NoticeSink notify_;
  std::shared_ptr<std::atomic<double>> check_;  // share of the runs to check
  mutable std::mutex mutex_;                    // guards canary_counts_
  mutable std::map<std::pair<std::string, std::string>, CanaryCounts> canary_counts_;
};

}  // namespace frazil::server
