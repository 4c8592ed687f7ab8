#include "server/core/message.h"

#include "server/core/json_text.h"

namespace frazil::server {
namespace {

std::string_view meaning_of(Http status) {
  switch (status) {
    case Http::bad_request: return "the request is not valid";
    case Http::unauthorized: return "the caller is not known";
    case Http::forbidden: return "the caller may not do this";
    case Http::not_found: return "there is no such thing";
    case Http::method_not_allowed: return "the path has other methods";
    case Http::too_large: return "the request or its answer is too large";
    case Http::too_many: return "there are too many requests";
    case Http::cancelled: return "the caller has disconnected";
    case Http::unsupported: return "this is not supported";
    case Http::unavailable: return "the server cannot answer at present";
    case Http::timeout: return "the time-out has passed";
    default: return "the request failed";
  }
}

}  // namespace

Refusal Refusal::without_values() const {
  if (is_plain()) return *this;
  std::string text(std::string_view(what()).substr(0, plain_));
  text += meaning_of(status_);
  return plain(status_, text + "; the details are hidden, as they may contain personal data");
}

Reply error_reply(Http status, std::string_view text) {
  JsonText json;
  json.begin_object();
  json.member("error", text);
  json.end_object();
  return {.status = status, .body = json.take()};
}

Reply error_reply(const Refusal& refusal) {
  Reply reply = error_reply(refusal.status(), refusal.what());
  if (!refusal.is_plain()) reply.plain = error_reply(refusal.status(), refusal.without_values().what()).body;
  return reply;
}

}  // namespace frazil::server
