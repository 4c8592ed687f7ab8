#include "server/http/rest_at_once.h"

#include "server/http/rest_json.h"
#include "server/net/url.h"
#include "server/pipeline/picture.h"
#include "server/pipeline/splits.h"
#include "server/request/json_tensor.h"
#include "server/web/live_files.h"

namespace frazil::server {

/// Refuses a body that is too long to parse on the transport's thread.
void check_short(std::string_view body) {
  constexpr std::size_t kMax = std::size_t{64} << 10U;
  if (body.size() > kMax) throw Refusal(Http::too_large, "the body has more than " + std::to_string(kMax) + " bytes");
}

namespace at_once {
Reply live(Service&, const Asked&) { return {.body = R"({"live":true})"}; }

/// The reason contains names of models and is only shown to callers that may see all of them.
Reply ready(Service& service, const Asked& asked) {
  const auto why = service.why_not_ready();
  if (!why) return {.body = R"({"ready":true})"};
  const auto known = service.tenants().find_known(asked.message.authorization, asked.message.certificate);
  throw Refusal(Http::unavailable, known && known->is_admin() ? *why : "the server is not ready");
}

Reply server_metadata(Service& service, const Asked&) { return server_metadata_json(service.options()); }

Reply model_metadata(Service& service, const Asked& asked) {
  return model_metadata_json(*asked.served, service.repository()->versions(asked.names.model));
}

Reply model_ready(Service&, const Asked& asked) { return model_ready_json(*asked.served); }

Reply model_config(Service&, const Asked& asked) { return model_config_json(*asked.served); }

Reply model_statistics(Service& service, const Asked& asked) {
  const bool all = asked.names.version.empty();
  return statistics_json(all ? service.repository()->versions(asked.names.model) : std::vector{asked.served},
                         asked.identity);
}

Reply model_splits(Service&, const Asked& asked) { return {.body = splits_json(*asked.served)}; }

[[noreturn]] void refuse_form(const std::string& key, const std::string& value) {
  throw Refusal(Http::bad_request, "query '" + key + "=" + value + "': expected format=text or format=dot");
}

Reply model_graph(Service& service, const Asked& asked) {
  auto form = PictureForm::text;
  for (const auto& [key, value] : query_of(asked.message.query)) {
    if (key != "format" || (value != "text" && value != "dot")) refuse_form(key, value);
    form = value == "dot" ? PictureForm::dot : PictureForm::text;
  }
  const auto served = service.models().find(asked.names.model, asked.names.version);
  return {.type = form == PictureForm::dot ? "text/vnd.graphviz" : "text/plain", .body = picture_of(*served, form)};
}

Reply all_statistics(Service& service, const Asked& asked) {
  return statistics_json(service.models().seen_by(asked.identity), asked.identity);
}

Reply page(Service&, const Asked& asked) { return live_file(asked.message.path); }

/// Callers without a key get metrics without names of tenants and models.
Reply metrics(Service& service, const Asked& asked) {
  return service.metrics(service.tenants().find_known(asked.message.authorization, asked.message.certificate));
}

}  // namespace at_once
}  // namespace frazil::server
