#pragma once

#include <string_view>

#include "govern/audit/cosigner.h"

namespace frazil::tool {

/// Returns a client that posts to the URLs of a policy's witnesses over HTTP or HTTPS, and waits 10 s for an answer.
/// Throws api::Error, with `what`, for a witness without a URL or with one of another form.
govern::WitnessClient witness_client(const govern::WitnessPolicy& policy, std::string_view what);

}  // namespace frazil::tool
