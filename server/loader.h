#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <frazil/session.h>

#include "server/repository.h"
#include "server/server_config.h"
#include "server/state_store.h"
#include "server/tell.h"
#include "server/workers.h"

namespace frazil::server {

/// Refuses (unsupported) a parameter of a request to load a model that gives a configuration or files.
void check_load_parameter(std::string_view name);

/// Reads models and pipelines from a folder: NAME.onnx and NAME.frzc as version 1, NAME/VERSION/model.onnx or
/// model.frzc as Triton lays them out, with NAME/config.pbtxt where there is one, and NAME.yaml as a pipeline. Its
/// functions are called one at a time.
class Loader {
 public:
  struct Source {
    std::string folder;  ///< of models
    std::string copies;  ///< a folder for the copies of model files that are served; see api::LoadOptions
  };
  /// `tell` is told what is ignored of a configuration and of the folder, and what goes wrong later in what was loaded.
  Loader(Source source, api::Options options, ServerConfig config, Workers& workers, StateStore& states, Tell tell);

  /// All that the folder has. Versions that do not answer what was recorded, and pipelines on them, are not ready.
  /// Throws api::Error for a folder that cannot be read or has no model, and for a model or a pipeline that cannot be
  /// loaded.
  std::shared_ptr<const Repository> load_all() const;
  /// `from` with one model or pipeline as the folder has it now, and with those pipelines made anew that use it. Throws
  /// as load_all(), for canaries, too, and with the status not_found where the folder does not have it.
  std::shared_ptr<const Repository> load(const Repository& from, const std::string& name) const;
  /// `from` without it. Throws Refusal (bad_request) where a pipeline needs it.
  std::shared_ptr<const Repository> unload(const Repository& from, const std::string& name) const;

  struct Reconfigured {
    std::shared_ptr<const Repository> repository;
    std::vector<std::string> changed;  ///< models that were loaded anew
  };
  /// From now on another configuration holds: `from` with those models loaded anew that are to be served in another
  /// way, and the pipelines that use them made anew. Throws as load_all(), and then nothing has changed.
  Reconfigured reconfigure(const Repository& from, const ServerConfig& config);

  /// How often versions have answered what was recorded of them, and how often not.
  struct Tried {
    std::uint64_t passed = 0, failed = 0;
  };
  /// By name and version. Thread-safe, unlike the other functions.
  std::map<std::pair<std::string, std::string>, Tried> tried() const;

 private:
  struct Entry;
  class Updater;
  std::vector<Entry> entries() const;
  static void check_models(const ServerConfig& config, const std::vector<Entry>& list);
  static void leave_out_unloaded(std::vector<Entry>& list, const Repository& from, const std::string& but);
  ModelConfig config_of(const Entry& entry, const ServerConfig& config) const;
  /// Why versions are not ready.
  using Faults = std::map<std::uint64_t, std::string>;
  Repository::Versions versions_of(const Entry& entry, const Repository& before, const ServerConfig& config,
                                   Faults* faults = nullptr) const;
  api::Model model_of(const Entry& entry, std::uint64_t number, const ModelConfig& config) const;
  void warn_of_skipped(const std::vector<Entry>& list) const;
  std::shared_ptr<Served> version_of(const Entry& entry, std::uint64_t number, const ModelConfig& config) const;

  Source source_;
  api::Options options_;
  ServerConfig config_;
  Workers& workers_;
  StateStore& states_;
  Tell tell_;
  std::shared_ptr<std::atomic<double>> check_;  // share of the runs
  mutable std::mutex mutex_;                    // of tried_
  mutable std::map<std::pair<std::string, std::string>, Tried> tried_;
};

}  // namespace frazil::server
