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

#include <frazil/live.h>

#include "server/request/labels.h"
#include "server/service/loader.h"
#include "server/service/service_options.h"

namespace frazil::server {

/// The served models, and their changes by requests, by the folder and by edits. Thread-safe; changes wait for each
/// other.
class ServedModels {
 public:
  using Edited = std::function<void(const std::string& model, const api::LiveModel&, const api::Version&)>;
  /// The arguments outlive this object. Other functions may be called after load_first().
  ServedModels(const ServiceOptions& options, Workers& workers, StateStore& states, const PersonalNames& personal);
  /// Loads the models. Edits call `edited`, which calls serve_edited() as long as this object can be used. Throws
  /// api::Error for a folder or a model that cannot be served.
  void load_first(Edited edited);

  /// Returns the current models. The result stays usable when they change.
  std::shared_ptr<const Repository> repository() const;
  /// Returns the versions that a caller may use, sorted by name and version.
  std::vector<std::shared_ptr<const Served>> seen_by(const Tenants::Identity& identity) const;
  /// Throws Refusal: not_found, or unavailable for a version that is not ready. An empty version is the newest.
  std::shared_ptr<const Served> find(std::string_view name, std::string_view version) const;

  /// The state of a version, as in Triton's index of the repository.
  struct IndexEntry {
    std::string name, version;
    std::string reason;  ///< why it is not available; empty: it is served
  };
  /// Returns the versions that a caller may use: those that are served, and unless `ready`, those that are not ready
  /// and those of models in the folder that are not loaded. Reads the folder. Throws Refusal (unavailable).
  std::vector<IndexEntry> index(const Tenants::Identity& identity, bool ready) const;

  /// The cause of a load or an unload.
  enum class Cause : std::uint8_t { request, poll };
  /// Reloads all versions of a model or pipeline from the folder. Running requests finish on their version. Throws
  /// Refusal; the served versions then stay unchanged. With ModelControl::poll, requests are refused (bad_request).
  void load(std::string_view name, Cause cause = Cause::request);
  /// Stops serving a model. `dependents`: also those that it alone needs. Throws Refusal: not_found, or bad_request if
  /// a pipeline needs it, and as load().
  void unload(std::string_view name, bool dependents = false, Cause cause = Cause::request);

  /// Loads a model whose files have changed, or unloads it if the folder has no such model any more. Throws as load().
  void follow(const std::string& name);
  /// Serves a version of a model in the registry that becomes current. Does nothing for a model that was replaced.
  /// Throws if the version cannot be served.
  void serve_edited(const std::string& name, const api::LiveModel& model, const api::Version& next);
  /// Applies another configuration and returns the models that were reloaded. Throws as Loader::reconfigure(); the
  /// models then stay unchanged.
  std::vector<std::string> reconfigure(const ServerConfig& config);
  /// Returns true if values are declared to be personal, by the server's configuration, a model's or a pipeline's.
  bool has_personal() const { return has_personal_.load(std::memory_order_relaxed); }
  /// As Loader.
  std::map<std::pair<std::string, std::string>, Loader::CanaryCounts> canary_counts() const {
    return loader_->canary_counts();
  }

 private:
  void record_loads(const Repository& models);
  void record_failed_load(const std::string& model, std::string_view reason) const;
  void swap_in(std::shared_ptr<const Repository> repository);
  void label(const Repository& models);
  void add_not_loaded(const Repository& models, std::vector<IndexEntry>& index) const;

  const ServiceOptions& options_;
  Workers& workers_;
  StateStore& states_;
  const PersonalNames& personal_;
  std::atomic<bool> has_personal_ = false;
  std::mutex loading_;        // serialises changes
  mutable std::mutex mutex_;  // guards repository_
  std::shared_ptr<const Repository> repository_;
  std::map<std::pair<std::string, std::string>, std::string> recorded_;  // digests by name and version; see loading_
  std::unique_ptr<Loader> loader_;
};

}  // namespace frazil::server
