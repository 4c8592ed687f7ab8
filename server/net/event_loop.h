#pragma once

#include <functional>

#include <boost/asio/io_context.hpp>

#include "server/core/clock.h"

namespace frazil::server {

/// Runs the handlers of a context on this thread until the context is stopped or has no work, as io_context::run().
///
/// To wake a sleeping thread takes longer than to serve a small request. If events have followed each other within
/// `busy_poll` on average, the thread therefore polls for the next event for up to `busy_poll` before it sleeps. It
/// polls only while `may_poll` returns true. 0: always sleeps.
void run_events(boost::asio::io_context& context, Clock::duration busy_poll, const std::function<bool()>& may_poll);

}  // namespace frazil::server
