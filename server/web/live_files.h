#pragma once

#include "server/core/message.h"

namespace frazil::server {

/// Returns a file of the page at /v2/live. The files are embedded in the program and need no network. They are public,
/// since the page shows nothing without authorised requests. Throws Refusal (not_found).
Reply live_file(std::string_view path);

}  // namespace frazil::server
