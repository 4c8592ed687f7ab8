#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <frazil/registry.h>
#include <frazil/session.h>

#include "server/config/server_config.h"
#include "server/core/log_settings.h"
#include "server/core/notice.h"
#include "server/model/repository.h"
#include "server/replay/environment.h"
#include "server/service/exposure_log.h"

namespace frazil::govern {
class AuditLog;
class Governor;
class PolicySource;
class SubjectKeys;
}  // namespace frazil::govern

namespace frazil::server {

class DefinitionKeeper;

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
  std::shared_ptr<govern::Governor> governor;  ///< the policy of all served models; null: everything is permitted
  std::shared_ptr<govern::PolicySource> policy_source;  ///< of the governor's policy; null: it cannot be reloaded
  std::shared_ptr<govern::AuditLog> audit;              ///< receives an event for each request; null: none
  std::shared_ptr<govern::SubjectKeys> subject_keys;    ///< null: those of `config`, if any
  Environment environment;                              ///< for events of requests
  std::shared_ptr<DefinitionKeeper> keeper;  ///< stores definitions for replays; null: one by `config`, if any
  std::shared_ptr<ExposureLog> exposures;    ///< receives the arms that splits choose; null: none
  std::shared_ptr<LogSettings> log = std::make_shared<LogSettings>();  ///< of `notify`; clients may change them
  std::shared_ptr<const Repository> repository;  ///< served instead of the folder; for tests and benchmarks
  std::shared_ptr<api::Registry> registry;       ///< see Service::registry(); null: one of the service's own
};

}  // namespace frazil::server
