#pragma once

#include <future>
#include <memory>
#include <utility>

#include "server/http/rest.h"

// Requests over REST without a transport.
namespace frazil::test {

/// Lets a message in and has it answered, as a transport does.
inline void ask_rest(server::Service& service, const server::Message& message, std::shared_ptr<server::Caller> caller,
                     const server::Rest::Done& done, server::PortKind port_kind = server::PortKind::models) {
  const server::Rest rest(service, port_kind);
  auto admitted = rest.admit(message);
  if (!admitted) return done(std::move(admitted.error()));
  rest.answer(std::move(*admitted), message, std::move(caller), server::Clock::now(), done);
}

/// The answer to a message, which a temporary may be: it is there until then. Without a Host it is for localhost.
inline server::Reply reply_to(server::Service& service, server::Message message,
                              std::shared_ptr<server::Caller> caller = std::make_shared<server::Caller>()) {
  if (message.host.empty()) message.host = "localhost:8000";
  const auto promise = std::make_shared<std::promise<server::Reply>>();
  ask_rest(service, message, std::move(caller),
           [promise](server::Reply reply) { promise->set_value(std::move(reply)); });
  return promise->get_future().get();
}

}  // namespace frazil::test
