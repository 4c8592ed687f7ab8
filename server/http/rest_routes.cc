#include <algorithm>
#include <optional>

#include "server/http/rest.h"
#include "server/http/rest_at_once.h"
#include "server/net/url.h"

// The routing table and the matching of paths.
namespace frazil::server {
namespace {

/// Returns the rule of a route that shows what was requested.
constexpr Rule view_rule(Access access, std::string_view action) {
  return {.access = access, .browser = Browser::own_host, .action = action};
}
constexpr Rule kPathsRule = view_rule(Access::tenant, "view_paths");
constexpr Rule kErasureRule{.access = Access::admin, .browser = Browser::own_write, .action = "erase"};
constexpr Rule kReplayRule{
    .access = Access::tenant, .feature = Feature::replay, .browser = Browser::own_write, .action = "replay"};

/// Removes and returns the part of a path up to the next '/'.
std::string_view take_part(std::string_view& path) {
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view part = path.substr(0, end);
  path.remove_prefix(std::min(end + 1, path.size()));
  return part;
}

/// Stores the value of a placeholder. Returns false if it is empty or malformed.
bool take_name(std::string_view pattern, std::string_view part, Rest::Names& names) {
  auto text = decoded(part);
  if (!text || text->empty()) return false;
  (pattern == "{model}" ? names.model : names.item) = std::move(*text);
  return true;
}

bool take_version(std::string_view& path, Rest::Names& names) {
  constexpr std::string_view kVersions = "versions/";
  if (!path.starts_with(kVersions)) return true;
  path.remove_prefix(kVersions.size());
  names.version = take_part(path);
  return !names.version.empty();
}

/// Returns the placeholders of a path, or nullopt if it does not match the route. The path of a route does not end with
/// '/'.
std::optional<Rest::Names> match(const Rest::Route& route, std::string_view path) {
  std::string_view pattern = route.path.substr(1);
  if (!path.starts_with('/') || (path.ends_with('/') && !pattern.ends_with('/'))) return std::nullopt;
  path.remove_prefix(1);
  Rest::Names names;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = take_part(pattern), part = take_part(path);
    if (wanted.starts_with('{') ? !take_name(wanted, part, names) : wanted != part) return std::nullopt;
    if (wanted == "{model}" && route.versions && !take_version(path, names)) return std::nullopt;
  }
  return pattern.empty() && path.empty() ? std::optional(std::move(names)) : std::nullopt;
}

}  // namespace

std::span<const Rest::Route> Rest::routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "/v2/models/{model}/infer", kInferRule, &Rest::infer, true},
      {"POST", "/v2/models/{model}/generate", kInferRule, &Rest::infer, true},
      {"POST", "/v2/models/{model}/generate_stream", kInferRule, &Rest::infer, true},
      {"GET", "/v2/health/live", kOpenRule, at_once::live},
      {"GET", "/v2/health/ready", kOpenRule, at_once::ready},
      {"GET", "/v2", kTenantRule, at_once::server_metadata},
      {"GET", "/v2/", kTenantRule, at_once::server_metadata},
      {"GET", "/v2/models/stats", kTenantRule, at_once::all_statistics},
      {"GET", "/v2/models/{model}", kModelRule, at_once::model_metadata, true},
      {"GET", "/v2/models/{model}/ready", kModelRule, at_once::model_ready, true},
      {"GET", "/v2/models/{model}/config", kModelRule, at_once::model_config, true},
      {"GET", "/v2/models/{model}/stats", kModelRule, at_once::model_statistics, true},
      {"GET", "/v2/models/{model}/splits", kModelRule, at_once::model_splits, true},
      {"GET", "/v2/models/{model}/graph", view_rule(Access::admin, "view_graph"), at_once::model_graph, true},
      {"POST", "/v2/repository/index", {Access::tenant, Feature::none, Browser::own_page}, &Rest::index},
      {"POST", "/v2/repository/models/{model}/load", control_rule("load"), &Rest::load},
      {"POST", "/v2/repository/models/{model}/unload", control_rule("unload"), &Rest::unload},
      {"POST", "/v2/repository/models/{model}/reset", control_rule("reset"), &Rest::reset},
      {"POST", "/v2/repository/config/load", control_rule("reload_config"), &Rest::load_config},
      {"POST", "/v2/repository/policy/load", control_rule("reload_policy"), &Rest::load_policy},
      {"POST", "/v2/governance/erase", kErasureRule, &Rest::erase},
      {"GET", "/v2/logging", kTenantRule, at_once::log_settings},
      {"POST", "/v2/logging", control_rule("log_settings"), at_once::set_log_settings},
      {"GET", "/v2/trace/setting", kTenantRule, at_once::trace_setting},
      {"POST", "/v2/trace/setting", control_rule("trace_settings"), at_once::set_trace_setting},
      {"GET", "/v2/models/{model}/trace/setting", kModelRule, at_once::trace_setting},
      {"POST", "/v2/models/{model}/trace/setting", control_rule("trace_settings"), at_once::set_model_trace_setting},
      {"GET", "/v2/systemsharedmemory/status", kSharedMemoryRule, at_once::shared_memory_status},
      {"GET", "/v2/systemsharedmemory/region/{item}/status", kSharedMemoryRule, at_once::shared_memory_status},
      {"POST", "/v2/systemsharedmemory/region/{item}/register", kSharedMemoryRule, at_once::register_shared_memory},
      {"POST", "/v2/systemsharedmemory/region/{item}/unregister", kSharedMemoryRule, at_once::unregister_shared_memory},
      {"POST", "/v2/systemsharedmemory/unregister", kSharedMemoryRule, at_once::unregister_shared_memory},
      {"GET", "/v2/paths", kPathsRule, at_once::list_paths},
      {"GET", "/v2/paths/{item}", kPathsRule, at_once::show_path},
      {"POST", "/v2/paths/{item}/replay", kReplayRule, &Rest::replay},
      {"GET", "/v2/live/events", view_rule(Access::tenant, "live_view"), nullptr},
      {"GET", "/v2/live", kOpenRule, at_once::page},
      {"GET", "/v2/live/{item}", kOpenRule, at_once::page},
      {"GET", "/metrics", kOpenRule, at_once::metrics, false, PortKind::metrics},
      {"GET", "/v2/health/live", kOpenRule, at_once::live, false, PortKind::metrics},
      {"GET", "/v2/health/ready", kOpenRule, at_once::ready, false, PortKind::metrics},
  };
  return kRoutes;
}

/// Throws Refusal: not_found, or method_not_allowed if the path exists with another method. Neither is disclosed to
/// callers that the gate does not admit.
const Rest::Route& Rest::route_of(const Message& head, Names& names) const {
  const Route* other = nullptr;
  for (const Route& route : routes()) {
    auto found = route.port_kind == port_kind_ ? match(route, head.path) : std::nullopt;
    if (!found) continue;
    if (route.method == head.method) {
      names = std::move(*found);
      return route;
    }
    other = &route;
  }
  const std::string path(head.path);
  if (other == nullptr) {
    check_known(head);
    throw Refusal(Http::not_found, "there is no path '" + path + "'; see docs/reference/protocol.md");
  }
  if (other->rule.access != Access::everybody) check_known(head);
  throw Refusal(Http::method_not_allowed,
                path + ": expected " + std::string(other->method) + ", got " + std::string(head.method));
}

}  // namespace frazil::server
