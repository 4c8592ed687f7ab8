#pragma once

#include <memory>

#include "govern/audit/audit_log.h"
#include "server/core/notice.h"
#include "server/model/repository.h"

namespace frazil::server {

/// Stores the definitions of served models in an audit log, so that their requests can be replayed from the log alone.
/// One function may run at a time.
class DefinitionKeeper {
 public:
  /// `notify` receives a warning about a definition that cannot be kept.
  DefinitionKeeper(std::shared_ptr<govern::AuditLog> audit, NoticeSink notify)
      : audit_(std::move(audit)), notify_(std::move(notify)) {}

  /// Stores the definitions that are not stored, and sets their VersionGovernance::manifest. Call it before publishing
  /// them. Throws api::Error if the log cannot be written.
  void keep(const Repository& models) const;

 private:
  void keep(const Served& served) const;

  std::shared_ptr<govern::AuditLog> audit_;
  NoticeSink notify_;
};

}  // namespace frazil::server
