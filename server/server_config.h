#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/model_config.h"

// The file that `frazil serve --config` reads, as plain data.
namespace frazil::server {

/// Who may use the server, by the keys that his requests carry or the certificate that his connections show. Without
/// tenants everybody may.
struct Tenant {
  std::string name;
  std::vector<std::string> keys;              ///< of the header "Authorization: Bearer KEY"
  std::vector<std::string> certificates;      ///< names in certificates: common names, DNS names and URIs
  std::uint64_t most_waiting = 0;             ///< of his requests that run or wait; 0: the server's limit
  std::optional<double> requests_per_second;  ///< with a burst of one second
  std::vector<std::string> models;            ///< that he may use; empty: all
  bool admin = false;                         ///< sees all tenants' requests, and may change what is for all

  bool operator==(const Tenant&) const = default;
};

/// Files in PEM for TLS with Redis.
struct RedisTls {
  std::string ca;                ///< authorities of Redis' certificate; empty: those of the system
  std::string certificate, key;  ///< of this server; empty: Redis asks for none

  bool operator==(const RedisTls&) const = default;
};

/// How Redis is entered.
struct RedisAccess {
  std::string user, password;   ///< no password: it asks for none; no user: the default one
  std::optional<RedisTls> tls;  ///< nothing: without TLS

  bool operator==(const RedisAccess&) const = default;
};

/// Where the state of sequences is kept beside memory.
struct StateConfig {
  std::uint64_t memory_bytes = 256U << 20U;  ///< beyond, the states that were not used for longest are written out
  std::uint64_t most_sequences = 100'000;
  std::string folder;  ///< on disk; empty: none
  std::string redis;   ///< HOST:PORT; empty: none
  RedisAccess redis_access = {};
  std::string redis_prefix = "frazil:";
  std::uint64_t page_bytes = 64U << 10U;  ///< of a page of states that grow, about; 0: they are kept whole

  bool operator==(const StateConfig&) const = default;
};

/// Which requests have their path kept.
struct PathConfig {
  std::uint64_t ring = 1000;        ///< the last ones, in memory; 0: none
  double sample = 1;                ///< share of requests
  bool inputs = false;              ///< with their inputs, so that they can be replayed
  std::vector<std::string> redact;  ///< inputs and outputs whose values are never shown
  std::string otlp;                 ///< HOST:PORT of a collector that takes OTLP/JSON; empty: none
  double check = 0;                 ///< share of requests that run again on the reference executor

  bool operator==(const PathConfig&) const = default;
};

/// What callers can do over the network beside running models. All of it is off by default.
struct NetworkConfig {
  bool model_control = false;           ///< loads, unloads and resets of models, and reloads of the configuration
  bool replay = false;                  ///< kept requests can run again
  bool tensors = false;                 ///< kept requests are shown with their tensors
  std::vector<std::string> host_names;  ///< names of this server beside addresses and localhost; "*": every name

  /// What either turns on.
  NetworkConfig with(const NetworkConfig& other) const {
    NetworkConfig both = *this;
    both.model_control |= other.model_control;
    both.replay |= other.replay;
    both.tensors |= other.tensors;
    both.host_names.insert(both.host_names.end(), other.host_names.begin(), other.host_names.end());
    return both;
  }
  bool operator==(const NetworkConfig&) const = default;
};

struct ServerConfig {
  std::map<std::string, ModelConfig> models;  ///< instead of config.pbtxt
  NetworkConfig network;
  std::vector<Tenant> tenants;
  StateConfig state;
  PathConfig paths;
};

}  // namespace frazil::server
