#pragma once

#include <future>
#include <memory>
#include <utility>

#include "server/rest.h"

// Requests over REST without a transport.
namespace frazil::test {

/// The answer to a message, which a temporary may be: it is there until then.
inline server::Reply reply_to(server::Service& service, const server::Message& message,
                              std::shared_ptr<server::Caller> caller = std::make_shared<server::Caller>()) {
  const auto promise = std::make_shared<std::promise<server::Reply>>();
  server::Rest(service).answer(message, std::move(caller), server::Clock::now(),
                               [promise](server::Reply reply) { promise->set_value(std::move(reply)); });
  return promise->get_future().get();
}

}  // namespace frazil::test
