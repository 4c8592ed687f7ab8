#pragma once

#include "server/message.h"

namespace frazil::server {

/// Whether a path belongs to the live view: /v2/live and what is below it.
bool is_of_live_view(std::string_view path);

/// A file of the page, which is part of the program: it needs no network. Anyone may have it, since it shows nothing
/// without what it asks for. Throws Refusal (not_found, method_not_allowed).
Reply live_page(const Message& message);

}  // namespace frazil::server
