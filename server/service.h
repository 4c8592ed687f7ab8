#pragma once

#include <atomic>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <frazil/session.h>

#include "server/gate.h"
#include "server/loader.h"
#include "server/otlp.h"
#include "server/path_log.h"
#include "server/refusals.h"
#include "server/repository.h"
#include "server/request.h"
#include "server/tenants.h"
#include "server/workers.h"

namespace frazil::server {

struct ServiceOptions {
  std::string folder;  ///< of models; docs/serving.md has its layout
  api::Options run;    ///< of every session
  unsigned workers = 1;
  std::string version;             ///< of the server, for clients
  std::size_t most_waiting = 256;  ///< requests that run or wait; more are refused
  ServerConfig config;
  NetworkConfig network;    ///< is turned on beside what the configuration turns on
  std::string config_file;  ///< that it was read from; empty: it cannot be read again
  std::string copies;       ///< a folder for copies of model files; empty: the system's folder for temporary files
  Tell tell = [](const Notice&) {};                                ///< is told what operators should know
  std::function<std::uint64_t()> lost_notices = [] { return 0; };  ///< that `tell` has taken and nobody will see
  std::shared_ptr<const Repository> repository;  ///< served instead of the folder's; for tests and benchmarks
};

/// What clients can ask for, whatever protocol they speak. Protocols turn messages into these calls
/// (server/rest.h, server/grpc.h); transports carry messages. Thread-safe.
class Service {
 public:
  /// Loads and plans the models. Throws api::Error for a folder or a model that cannot be served.
  explicit Service(ServiceOptions options);

  const std::string& version() const { return options_.version; }
  Workers& workers() { return workers_; }

  /// The models as they are now; what it holds stays usable when they change.
  std::shared_ptr<const Repository> repository() const;
  /// The versions that a caller may use, by name and version.
  std::vector<std::shared_ptr<const Served>> models_of(const Tenants::Asker& asker) const;
  /// Throws Refusal: not_found, or unavailable for a version that is not ready. An empty version is the newest.
  std::shared_ptr<const Served> find(std::string_view name, std::string_view version) const;

  /// Has `target` answer a request; `call.done` is called once. Called on a worker. Never throws.
  void infer(const std::shared_ptr<const Served>& target, Call call);

  /// Loads a model or a pipeline of the folder anew, in all versions that it has there now. Requests that have begun
  /// end on the version that they began on. Throws Refusal; what was served is then served on.
  void load(std::string_view name);
  /// Serves a model no longer. Throws Refusal (not_found), or (bad_request) where a pipeline needs it.
  void unload(std::string_view name);

  /// What a reload of the configuration has come to, as paths of its keys.
  struct Reloaded {
    std::vector<std::string> changed;
    std::vector<std::string> left;  ///< differ, and hold after a restart only
  };
  /// Reads the configuration's file again. Requests that have begun end with what they began with. Throws Refusal
  /// (bad_request) for a file that cannot be read or does not fit the models; then nothing has changed.
  Reloaded reload_config();
  /// Has the thread of changes do that; what comes of it is told to the options' `tell`. Never throws.
  void begin_reload_config();

  /// A place among the requests that run or wait; ends with the object.
  using Place = std::shared_ptr<const void>;
  /// What is known of a request before it is read.
  struct Arriving {
    Tenants::Asker asker = {};
    const Served* target = nullptr;            ///< null: is not known yet
    std::optional<Clock::duration> time_left;  ///< until its deadline
  };
  /// Takes a place for a request, in the name of who asks. Refused (too_many) when there is none, or when it would wait
  /// for longer than it has time, (timeout) when it has none left, and as Served::refusal() and
  /// Tenants::Asker::enter().
  std::expected<Place, Refusal> enter(const Arriving& arriving);
  /// Why enter() would refuse now; takes nothing.
  std::optional<Refusal> refusal(const Arriving& arriving);
  /// Has a worker do the work of a request for `target`; or does it here, where that is known to be less than handing
  /// it on, no other is under way and the spot is free. `target` and `spot` may be null.
  void start(const Served* target, Spot* spot, std::function<void()> work);
  /// How long a request that comes now is expected to wait for a worker.
  Clock::duration expected_wait() const;
  const Tenants& tenants() const { return tenants_; }
  const Gate& gate() const { return gate_; }
  /// Has the thread of changes run a function, which must not throw. Workers go on with requests meanwhile.
  void change(std::function<void()> work) { changes_.post_away(std::move(work)); }
  /// Transports note the answers with an error that they send.
  Refusals& refusals() { return refusals_; }

  /// What is other in a replay.
  struct Change {
    std::string model, version;  ///< empty: as it was
    std::map<std::string, Parameter> parameters;
    std::map<std::string, std::string> choices;
  };
  using Replayed = std::function<void(const Journey& before, Outcome now, const PathRecord& path)>;
  /// Runs a request of which the inputs were kept again, alone, with other parameters or on another version where
  /// `change` has some. `done` is called once: with what then came out, and its way. Throws Refusal for a number that
  /// is not kept, or not with its inputs, or that who asks does not see, and for a model that is not his.
  void replay(std::uint64_t number, const Change& change, const Tenants::Asker& asker, std::shared_ptr<Caller> caller,
              Replayed done);
  const PathLog& paths() const { return paths_; }

  /// Why no requests should come: it ends, or a model of the folder is not ready. Others are answered all the same.
  std::optional<std::string> why_not_ready() const;
  /// From now on it is not ready: no new requests should come.
  void drain() { ready_ = false; }

  /// Metrics as Prometheus reads them: of the models and the tenants that the caller may see. An unknown caller
  /// (nullopt) sees neither.
  Reply metrics(const std::optional<Tenants::Asker>& asker = Tenants::Asker()) const;
  struct Load {
    std::uint64_t waiting, refused;  ///< requests that run or wait now; that were refused so far
    StateStore::Counts sequences;
  };
  Load current_load() const;

 private:
  Reloaded apply(ServerConfig next);
  std::shared_ptr<Otlp> otlp() const;
  std::expected<Nanoseconds, Refusal> cost_where_room(const Arriving& arriving);
  void leave(Nanoseconds cost);
  void keep_path(Call& call, const Served& target);
  void swap_in(std::shared_ptr<const Repository> repository);

  const ServiceOptions options_;
  Refusals refusals_;
  std::atomic<bool> ready_ = true;
  std::atomic<std::size_t> waiting_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::int64_t> backlog_ns_ = 0;  // of workers' time that those who wait are expected to take
  Mean cost_;                                 // of a request for whatever model
  // Between requests that leave while all workers are busy, with all that the server does beside running models. Those
  // of a batch leave together, so that many are needed for a mean.
  Mean gap_{128};
  std::atomic<std::int64_t> last_left_ns_ = 0;
  std::atomic<bool> busy_ = false;
  std::mutex loading_;   // of changes: one at a time
  ServerConfig config_;  // that holds; of who has loading_
  std::atomic<std::uint64_t> reloads_ = 0, failed_reloads_ = 0;
  std::atomic<bool> sends_spans_ = false;
  mutable std::mutex mutex_;  // of repository_ and otlp_
  std::shared_ptr<const Repository> repository_;
  PathLog paths_;
  Tenants tenants_;
  Gate gate_;
  std::shared_ptr<Otlp> otlp_;  // null: spans are not sent
  std::unique_ptr<StateStore> states_;
  std::unique_ptr<Loader> loader_;
  Workers workers_;     // its end waits for requests, which use the others
  Workers changes_{1};  // last: its end waits for a change, which uses all others
};

}  // namespace frazil::server
