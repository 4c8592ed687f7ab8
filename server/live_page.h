#pragma once

#include "server/message.h"

namespace frazil::server {

/// A file of the page at /v2/live, which is part of the program: it needs no network. Anyone may have it, since it
/// shows nothing without what it asks for. Throws Refusal (not_found).
Reply live_page(std::string_view path);

}  // namespace frazil::server
