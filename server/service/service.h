#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <frazil/registry.h>
#include <frazil/session.h>

#include "govern/gate/questions.h"
#include "server/access/gate.h"
#include "server/access/tenants.h"
#include "server/core/tether.h"
#include "server/core/workers.h"
#include "server/request/request.h"
#include "server/request/shared_memory.h"
#include "server/service/admission.h"
#include "server/service/path_recorder.h"
#include "server/service/privacy.h"
#include "server/service/repository_poll.h"
#include "server/service/request_audit.h"
#include "server/service/request_costs.h"
#include "server/service/served_models.h"
#include "server/service/service_options.h"
#include "server/service/traffic.h"

namespace frazil::server {

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

  /// As ServedModels.
  std::shared_ptr<const Repository> repository() const { return models_->repository(); }
  ServedModels& models() const { return *models_; }

  /// Answers a request with `target`; `call.done` is called once. Called on a worker. Never throws.
  void infer(const std::shared_ptr<const Served>& target, Call call);

  using IndexEntry = ServedModels::IndexEntry;

  /// The result of a configuration reload, as paths of keys.
  struct Reloaded {
    std::vector<std::string> changed;
    std::vector<std::string> left;  ///< changed keys that need a restart
  };
  /// Reloads the configuration file. Running requests finish with the settings they began with. Throws Refusal
  /// (bad_request) for a file that cannot be read or does not fit the models; nothing is changed then.
  /// Asks hook `config` before anything changes; `user` is the tenant that asks. Throws Refusal (forbidden).
  Reloaded reload_config(const std::string& user = "");
  /// Reloads the policy and the configuration on the thread for changes and reports the results to `notify`. Never
  /// throws.
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
  /// Costs and budgets of requests.
  RequestCosts& costs() { return costs_; }
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
  PathLog& paths() { return paths_.log(); }
  SharedMemory& shared_memory() { return shared_memory_; }
  /// Returns the rules by which texts of requests leave the server, or null if nothing is personal.
  const Privacy* privacy() const { return models_->has_personal() ? &privacy_ : nullptr; }

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
  /// Writes the costs that no request has to the audit log; otherwise done once a minute. Never throws.
  void record_costs();

 private:
  Reloaded apply(ServerConfig next);

  const ServiceOptions options_;
  Traffic traffic_;
  std::atomic<bool> ready_ = true;
  std::mutex configuring_;  // serialises changes of the configuration
  ServerConfig config_;     // current configuration; guarded by configuring_
  std::atomic<std::uint64_t> reloads_ = 0, failed_reloads_ = 0;
  const Privacy privacy_;
  PathRecorder paths_;
  const std::shared_ptr<RequestAudit> request_audit_;  ///< null: requests leave no events
  SharedMemory shared_memory_;
  Tenants tenants_;
  Gate gate_;
  std::unique_ptr<StateStore> states_;
  std::unique_ptr<ServedModels> models_;
  Admission admission_;
  RequestCosts costs_;
  Workers workers_;                             // its destructor waits for requests, which use the other members
  Workers changes_{1};                          // its destructor waits for a change, which uses all other members
  std::unique_ptr<RepositoryPoll> poll_;        // as changes_; null: the folder is not polled
  std::optional<Tether<ServedModels>> tether_;  // its destructor waits for an edit, which uses all other members
};

}  // namespace frazil::server
