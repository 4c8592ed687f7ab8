#include "server/message.h"

#include "server/json_text.h"

namespace frazil::server {

Reply error_reply(Http status, std::string_view text) {
  Reply reply{.status = status, .body = R"({"error":)"};
  append_json(reply.body, text);
  reply.body += '}';
  return reply;
}

}  // namespace frazil::server
