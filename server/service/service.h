#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <frazil/live.h>
#include <frazil/registry.h>
#include <frazil/session.h>

#include "server/access/gate.h"
#include "server/access/tenants.h"
#include "server/core/log_settings.h"
#include "server/core/tether.h"
#include "server/core/workers.h"
#include "server/model/repository.h"
#include "server/request/request.h"
#include "server/request/shared_memory.h"
#include "server/service/admission.h"
#include "server/service/exposure_log.h"
#include "server/service/loader.h"
#include "server/service/otlp.h"
#include "server/service/path_log.h"
#include "server/service/repository_poll.h"
#include "server/service/traffic.h"

namespace frazil::server {

/// The rule by which models are loaded and unloaded.
enum class ModelControl : std::uint8_t {
  none,        ///< all at the start; later by requests, if the network may do that
  poll,        ///< all at the start; later as the folder changes
  on_request,  ///< some at the start; later by requests
};

struct ServiceOptions {
  std::string folder;  ///< folder of the models; docs/reference/serving.md describes its layout
  ModelControl control = ModelControl::none;
  std::vector<std::string> load_models;          ///< ModelControl::on_request: those loaded at the start; "*": all
  std::chrono::duration<double> poll_every{15};  ///< ModelControl::poll
  api::Options run;                              ///< for every session
  unsigned workers = 1;
  std::string version;                  ///< the server's version, for clients
  std::string code_generator = "none";  ///< version of the code generator for fused kernels, or "none"; for clients
  std::size_t max_waiting = 256;        ///< limit for running and waiting requests
  std::uint64_t max_shared_bytes = 1U << 30U;  ///< limit for inputs of requests that were read from shared memory
  ServerConfig config;
  NetworkConfig network;                     ///< enabled in addition to the configuration
  std::string config_file;                   ///< source of `config`; empty: it cannot be reloaded
  std::string copies;                        ///< folder for copies of model files; empty: the system's temporary folder
  NoticeSink notify = [](const Notice&) {};  ///< receives notices for operators
  std::function<std::uint64_t()> dropped_notices = [] { return 0; };   ///< notices that `notify` took but were dropped
  std::function<std::uint64_t()> dropped_accesses = [] { return 0; };  ///< as that, of the access log
  std::shared_ptr<ExposureLog> exposures;  ///< receives the arms that splits choose; null: none
  std::shared_ptr<LogSettings> log = std::make_shared<LogSettings>();  ///< of `notify`; clients may change them
  std::shared_ptr<const Repository> repository;  ///< served instead of the folder; for tests and benchmarks
  std::shared_ptr<api::Registry> registry;       ///< see Service::registry(); null: one of the service's own
};

/// The operations for clients, independent of the protocol. Protocols (server/rest.h, server/grpc.h) translate messages
/// into these calls; transports carry messages. Thread-safe.
class Service {
 public:
  /// Loads and plans the models. Throws api::Error for a folder or a model that cannot be served.
  explicit Service(ServiceOptions options);

  const ServiceOptions& options() const { return options_; }
  Workers& workers() { return workers_; }
  /// Returns the models that nodes frazil.Call of served graphs run: the served ones, with the version numbers of the
  /// folder, and those that the program puts. An edit of a served model makes a version that is checked as those of the
  /// folder, and then served, until the model is loaded from the folder again. The program must not remove or replace
  /// served models.
  api::Registry& registry() const { return *options_.registry; }

  /// Returns the current models. The result stays usable when they change.
  std::shared_ptr<const Repository> repository() const;
  /// Returns the versions that a caller may use, sorted by name and version.
  std::vector<std::shared_ptr<const Served>> models_of(const Tenants::Identity& identity) const;
  /// Throws Refusal: not_found, or unavailable for a version that is not ready. An empty version is the newest.
  std::shared_ptr<const Served> find(std::string_view name, std::string_view version) const;

  /// Answers a request with `target`; `call.done` is called once. Called on a worker. Never throws.
  void infer(const std::shared_ptr<const Served>& target, Call call);

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

  /// The result of a configuration reload, as paths of keys.
  struct Reloaded {
    std::vector<std::string> changed;
    std::vector<std::string> left;  ///< changed keys that need a restart
  };
  /// Reloads the configuration file. Running requests finish with the settings they began with. Throws Refusal
  /// (bad_request) for a file that cannot be read or does not fit the models; nothing is changed then.
  Reloaded reload_config();
  /// Reloads the configuration on the thread for changes and reports the result to `notify`. Never throws.
  void begin_reload_config();

  using Place = Admission::Place;
  using IncomingRequest = Admission::IncomingRequest;
  /// Limits the running and waiting requests.
  Admission& admission() { return admission_; }
  /// Runs the work of a request for `target` on a worker. Runs it on this thread instead if that is cheaper than the
  /// hand-over, no other request is running and the slot is free. `target` and `inline_slot` may be null.
  void start(const Served* target, InlineRunSlot* inline_slot, std::function<void()> work);
  const Tenants& tenants() const { return tenants_; }
  const Gate& gate() const { return gate_; }
  /// Runs a function, which must not throw, on the thread for changes. Workers continue to serve requests meanwhile.
  void change(std::function<void()> work) { changes_.post_to_worker(std::move(work)); }
  /// Transports record their connections and answers here.
  Traffic& traffic() { return traffic_; }

  /// The differences of a replay from the original request.
  struct Change {
    std::string model, version;  ///< empty: unchanged
    std::map<std::string, Parameter> parameters;
    std::map<std::string, std::string> choices;
  };
  using Replayed = std::function<void(const RequestRecord& before, Outcome now, const PathRecord& path)>;
  /// Replays a request whose inputs were stored, without batching, with the changed parameters or version. `done` is
  /// called once with the original, the outcome and the path. Throws Refusal if the request or its inputs are not
  /// stored, the caller may not see it, or may not use the model.
  void replay(std::uint64_t number, const Change& change, const Tenants::Identity& identity,
              std::shared_ptr<Caller> caller, Replayed done);
  PathLog& paths() { return paths_; }
  SharedMemory& shared_memory() { return shared_memory_; }

  /// Returns the reason if no requests should be sent: the server is ending, or a model of the folder is not ready.
  /// Requests are still answered.
  std::optional<std::string> why_not_ready() const;
  /// Makes why_not_ready() report that the server is ending.
  void drain() { ready_ = false; }

  /// Returns metrics in Prometheus format for the models and tenants that the caller may see. An unknown caller
  /// (nullopt) sees neither.
  Reply metrics(const std::optional<Tenants::Identity>& identity = Tenants::Identity()) const;
  struct Load {
    std::uint64_t waiting, refused;  ///< running and waiting requests; requests refused so far
    StateStore::Counts sequences;
  };
  Load current_load() const;

 private:
  Reloaded apply(ServerConfig next);
  std::shared_ptr<Otlp> otlp() const;
  void keep_path(Call& call, const Served& target);
  void swap_in(std::shared_ptr<const Repository> repository);
  void follow(const std::string& name);
  void serve_edited(const std::string& name, const api::LiveModel& model, const api::Version& next);
  void add_not_loaded(const Repository& models, std::vector<IndexEntry>& index) const;

  const ServiceOptions options_;
  Traffic traffic_;
  std::atomic<bool> ready_ = true;
  std::mutex loading_;   // serialises changes
  ServerConfig config_;  // current configuration; guarded by loading_
  std::atomic<std::uint64_t> reloads_ = 0, failed_reloads_ = 0;
  std::atomic<bool> sends_spans_ = false;
  mutable std::mutex mutex_;  // guards repository_ and otlp_
  std::shared_ptr<const Repository> repository_;
  PathLog paths_;
  SharedMemory shared_memory_;
  Tenants tenants_;
  Gate gate_;
  std::shared_ptr<Otlp> otlp_;  // null: spans are not sent
  std::unique_ptr<StateStore> states_;
  std::unique_ptr<Loader> loader_;
  Admission admission_;
  Workers workers_;                       // its destructor waits for requests, which use the other members
  Workers changes_{1};                    // its destructor waits for a change, which uses all other members
  std::unique_ptr<RepositoryPoll> poll_;  // as changes_; null: the folder is not polled
  Tether<Service> tether_{*this};         // its destructor waits for an edit, which uses all other members
};

}  // namespace frazil::server
