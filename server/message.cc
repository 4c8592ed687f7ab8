#include "server/message.h"

#include "server/json_text.h"

namespace frazil::server {

Reply error_reply(Http status, std::string_view text) {
  Reply reply{.status = status, .body = R"({"error":)"};
  append_json(reply.body, text);
  reply.body += '}';
  return reply;
}

Reply error_reply(const Refusal& refusal) { return error_reply(refusal.status(), refusal.what()); }

void expect_method(const Message& message, std::string_view method) {
  if (message.method == method) return;
  throw Refusal(Http::method_not_allowed, std::string(message.path) + ": expected " + std::string(method) + ", got " +
                                              std::string(message.method));
}

}  // namespace frazil::server
