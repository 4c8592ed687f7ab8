#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/config/governance_config.h"
#include "server/config/model_config.h"

// The configuration file of `frazil serve --config`, as plain data.
namespace frazil::server {

/// A tenant, identified by the keys in its requests or the certificates of its connections. Without tenants every
/// caller is admitted.
struct Tenant {
  std::string name;
  std::vector<std::string> keys;              ///< of the header "Authorization: Bearer KEY", or sha256:HEX of one
  std::vector<std::string> certificates;      ///< names in certificates: common names, DNS names and URIs
  std::uint64_t max_waiting = 0;              ///< limit for running and waiting requests; 0: the server's limit
  std::optional<double> requests_per_second;  ///< with a burst of one second
  std::vector<std::string> models;            ///< models that the tenant may use; empty: all
  bool admin = false;                         ///< may see all tenants' requests and change shared settings

  bool operator==(const Tenant&) const = default;
};

/// Files of a TLS client in PEM format.
struct TlsFiles {
  std::string ca;                ///< authorities for the server's certificate; empty: the system's
  std::string certificate, key;  ///< client certificate, and its key without a password; empty: none

  bool operator==(const TlsFiles&) const = default;
};

/// Credentials for Redis.
struct RedisAccess {
  std::string user, password;   ///< no password: none required; no user: the default user
  std::uint64_t database = 0;   ///< number of the database
  std::optional<TlsFiles> tls;  ///< nullopt: no TLS

  bool operator==(const RedisAccess&) const = default;
};

/// Storage of sequence states beyond memory.
struct StateConfig {
  std::uint64_t memory_bytes = 256U << 20U;  ///< beyond this limit the least recently used states are written out
  std::uint64_t max_sequences = 100'000;
  std::string folder;  ///< on disk; empty: none
  std::string redis;   ///< HOST:PORT; empty: none
  RedisAccess redis_access = {};
  std::string redis_prefix = "frazil:";
  std::uint64_t page_bytes = 64U << 10U;  ///< approximate page size for growing states; 0: no pages

  bool operator==(const StateConfig&) const = default;
};

/// Settings for recorded request paths.
struct PathConfig {
  std::uint64_t ring = 1000;        ///< number of stored paths; 0: none
  double sample = 1;                ///< share of requests
  bool inputs = false;              ///< store inputs, so that requests can be replayed
  std::vector<std::string> redact;  ///< inputs and outputs whose values are never shown
  std::string otlp;                 ///< HOST:PORT or URL of an OTLP/JSON collector; empty: none
  TlsFiles otlp_tls = {};           ///< for a collector with https
  double check = 0;                 ///< share of requests to repeat on the reference executor

  bool operator==(const PathConfig&) const = default;
};

/// Permissions for operations over the network other than running models. All are off by default.
struct NetworkConfig {
  bool model_control = false;           ///< load, unload and reset models, and reload the configuration
  bool replay = false;                  ///< replay stored requests
  bool tensors = false;                 ///< show tensors of stored requests
  bool client_shm = false;              ///< clients may register shared memory of this machine
  std::vector<std::string> host_names;  ///< names of this server besides addresses and localhost; "*": every name

  /// Returns the union of both permissions.
  NetworkConfig with(const NetworkConfig& other) const {
    NetworkConfig both = *this;
    both.model_control |= other.model_control;
    both.replay |= other.replay;
    both.tensors |= other.tensors;
    both.client_shm |= other.client_shm;
    both.host_names.insert(both.host_names.end(), other.host_names.begin(), other.host_names.end());
    return both;
  }
  bool operator==(const NetworkConfig&) const = default;
};

struct ServerConfig {
  std::map<std::string, ModelConfig> models;  ///< override config.pbtxt
  NetworkConfig network;
  std::vector<Tenant> tenants;
  StateConfig state;
  PathConfig paths;
  GovernanceConfig governance;
};

}  // namespace frazil::server
