#pragma once

#include <map>
#include <string>

#include "govern/gate/governor.h"
#include "server/config/server_config.h"

namespace frazil::server {

/// Returns the differences of two configurations, as hook `config` is asked with them. Without `before`, the settings
/// are compared with an empty file. `user`: the tenant that asks; empty for the file at the start and for SIGHUP.
govern::ConfigQuestion config_question(const ServerConfig& before, const ServerConfig& after, std::string user);

/// A change of the configuration that a policy has permitted. Unless done() is called, its destructor records that it
/// was not applied.
class PermittedChange {
 public:
  /// Asks hook `config` if anything differs. `governor`: null permits all. Throws Refusal (forbidden), and Refusal
  /// (unavailable) if the change cannot be recorded.
  PermittedChange(std::shared_ptr<govern::Governor> governor, govern::ConfigQuestion question);
  ~PermittedChange();
  PermittedChange(const PermittedChange&) = delete;
  PermittedChange& operator=(const PermittedChange&) = delete;
  void done() { governor_ = nullptr; }

 private:
  std::shared_ptr<govern::Governor> governor_;  // null: nothing is to be recorded
  const govern::ConfigQuestion question_;
};

}  // namespace frazil::server
