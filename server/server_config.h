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
  bool admin = false;                         ///< he sees all tenants' requests, and may change what is for all

  bool operator==(const Tenant&) const = default;
};

/// Where the state of sequences is kept beside memory.
struct StateConfig {
  std::uint64_t memory_bytes = 256U << 20U;  ///< beyond, the states that were not used for longest are written out
  std::uint64_t most_sequences = 100'000;
  std::string folder;  ///< on disk; empty: none
  std::string redis;   ///< HOST:PORT; empty: none
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

struct ServerConfig {
  std::map<std::string, ModelConfig> models;  ///< instead of config.pbtxt
  std::vector<Tenant> tenants;
  StateConfig state;
  PathConfig paths;
};

}  // namespace frazil::server
