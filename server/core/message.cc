#include "server/core/message.h"

#include "server/core/json_text.h"

namespace frazil::server {

Reply error_reply(Http status, std::string_view text) {
  JsonText json;
  json.begin_object();
  json.member("error", text);
  json.end_object();
  return {.status = status, .body = json.take()};
}

Reply error_reply(const Refusal& refusal) { return error_reply(refusal.status(), refusal.what()); }

}  // namespace frazil::server
