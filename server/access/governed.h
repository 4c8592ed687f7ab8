#pragma once

#include <string>
#include <string_view>

#include "govern/gate/kept_decisions.h"
#include "server/access/tenants.h"
#include "server/core/message.h"

namespace frazil::server {

/// Returns the tenant of a caller for decisions. Its name is valid as long as the identity.
inline govern::TenantRef tenant_of(const Tenants::Identity& identity) { return {identity.name(), identity.number()}; }

/// Returns the answer to what a policy rejects: "the policy refuses WHAT: rule 'NAME': REASON".
inline Refusal refused_by_policy(std::string_view what, const std::string& reason) {
  return Refusal::plain(Http::forbidden, "the policy refuses " + std::string(what) + ": " + reason);
}

}  // namespace frazil::server
