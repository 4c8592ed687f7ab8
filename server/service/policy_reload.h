#pragma once

#include <cstdint>
#include <string>

#include "server/service/service_options.h"

namespace frazil::server {

/// The policy after a reload.
struct PolicyReloaded {
  bool changed = false;
  std::string digest;
  std::uint64_t serial = 0;
};

/// Reads the file of the policy again, and the envelope of edits, and reports the result to `notify`. Requests are
/// decided under the old policy until the new one is in force. Thread-safe. Throws Refusal (bad_request) if there is no
/// policy, or the new one is not accepted; the old one stays then.
PolicyReloaded reload_policy(const ServiceOptions& options);

/// Reloads the policy on SIGHUP: does nothing without a policy, and reports errors to `notify` only.
void try_reload_policy(const ServiceOptions& options) noexcept;

}  // namespace frazil::server
