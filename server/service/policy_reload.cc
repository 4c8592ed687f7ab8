#include "server/service/policy_reload.h"

#include "govern/gate/governor.h"
#include "govern/gate/policy_source.h"
#include "server/core/message.h"

namespace frazil::server {

PolicyReloaded reload_policy(const ServiceOptions& options) {
  if (options.policy_source == nullptr || options.governor == nullptr) {
    throw Refusal(Http::bad_request, "there is no policy to read again: the server was started without --policy");
  }
  try {
    const auto reloaded = options.policy_source->reload(*options.governor);
    options.governor->reload_evidence();
    const govern::Policy& policy = *reloaded.policy;
    inform(options.notify, "policy",
           "policy '" + policy.name() + "', serial " + std::to_string(policy.serial()) +
               (reloaded.changed ? ", is in force: " + policy.digest() : ", has not changed"));
    return {.changed = reloaded.changed, .digest = policy.digest(), .serial = policy.serial()};
  } catch (const api::Error& error) {
    warn(options.notify, "policy", std::string("not changed: ") + error.what());
    throw Refusal(Http::bad_request, error.what());
  }
}

void try_reload_policy(const ServiceOptions& options) noexcept {
  if (options.policy_source == nullptr) return;
  try {
    (void)reload_policy(options);
  } catch (const std::exception&) {
    // It was reported.
  }
}

}  // namespace frazil::server
