#include "server/access/gate.h"

#include <algorithm>
#include <array>

#include <boost/asio/ip/address.hpp>
#include <unistd.h>

#include "server/access/governed.h"

namespace frazil::server {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

/// Removes a port and the brackets of an IPv6 address.
std::string_view name_of_host(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.rfind(':'));
}

const std::string& machine_name() {
  static const std::string name = [] {
    std::array<char, 256> text = {};
    return ::gethostname(text.data(), text.size() - 1) == 0 ? lower(text.data()) : std::string();
  }();
  return name;
}

/// Returns true if a page of `host` has sent the request. The scheme of an Origin such as "https://host" is ignored, as
/// a proxy may have changed it.
bool is_own_origin(std::string_view origin, std::string_view host) {
  constexpr std::string_view kMark = "://";
  const std::size_t at = origin.find(kMark);
  return at != std::string_view::npos && !host.empty() && lower(origin.substr(at + kMark.size())) == lower(host);
}

/// Returns true for content types that a page can send to any server without a preflight request:
/// https://fetch.spec.whatwg.org/#cors-safelisted-request-header.
bool is_of_any_page(std::string_view content_type) {
  std::string type = lower(content_type.substr(0, content_type.find(';')));
  type.erase(type.find_last_not_of(" \t") + 1);
  return type == "application/x-www-form-urlencoded" || type == "multipart/form-data" || type == "text/plain";
}

[[noreturn]] void forbid(const std::string& why) { throw Refusal(Http::forbidden, why); }

void check_browser(Browser wanted, const Credentials& by, std::span<const std::string> names) {
  if (wanted == Browser::any_page) return;
  const bool own_host = names_this_server(by.host, names);
  if (by.origin && !(own_host && is_own_origin(*by.origin, by.host))) {
    forbid("header Origin '" + std::string(*by.origin) + "': a page of another server may not send this request");
  }
  if (wanted >= Browser::own_host && !own_host) {
    forbid("header Host '" + std::string(by.host) +
           "' is not a name of this server: give --host-name, or set network.host_names");
  }
  if (wanted >= Browser::own_write && is_of_any_page(by.content_type)) {
    forbid("header Content-Type '" + std::string(by.content_type) + "': expected application/json");
  }
}

struct Switch {
  Feature feature;
  bool NetworkConfig::* on;
  const char* text;
};
constexpr Switch kSwitches[] = {
    {Feature::model_control, &NetworkConfig::model_control,
     "model control over the network is off: give --model-control, or set network.model_control"},
    {Feature::replay, &NetworkConfig::replay, "replays are off: give --replay, or set network.replay"},
    {Feature::client_shm, &NetworkConfig::client_shm,
     "shared memory of clients is off: give --allow-client-shm, or set network.client_shm"}};

const Switch* switch_of(Feature feature) {
  const auto* const at = std::ranges::find(kSwitches, feature, &Switch::feature);
  return at == std::end(kSwitches) ? nullptr : at;
}

}  // namespace

bool names_this_server(std::string_view host, std::span<const std::string> names) {
  if (std::ranges::find(names, "*") != names.end()) return true;
  const std::string name = lower(name_of_host(host));
  if (name.empty()) return false;
  if (name == "localhost" || name.ends_with(".localhost") || name == machine_name()) return true;
  boost::system::error_code no_address;
  boost::asio::ip::make_address(name, no_address);
  return !no_address || std::ranges::any_of(names, [&](const std::string& own) { return lower(own) == name; });
}

Gate::Gate(const Tenants& tenants, const NetworkConfig& network, std::shared_ptr<govern::Governor> governor)
    : tenants_(tenants), governor_(std::move(governor)) {
  replace(network);
}

Tenants::Identity Gate::admit(const Rule& rule, const Credentials& by) const {
  if (rule.access == Access::nobody) forbid("no rule allows this request");
  const auto network = this->network();
  check_browser(rule.browser, by, network->host_names);
  if (rule.access == Access::everybody) return {};
  Tenants::Identity identity = tenants_.find(by.authorization, by.certificate);
  if (const Switch* const needed = switch_of(rule.feature); needed != nullptr && !((*network).*(needed->on))) {
    forbid(needed->text);
  }
  if (rule.access == Access::admin) identity.check_admin();
  return identity;
}

void Gate::check_action(const Rule& rule, const Tenants::Identity& identity, std::string_view model) const {
  if (governor_ == nullptr || rule.action.empty()) return;
  govern::AdminQuestion question{.action = std::string(rule.action), .user = identity.name()};
  if (!identity.is_admin()) question.tenant = identity.name();
  if (!model.empty()) question.model = std::string(model);
  std::optional<std::string> reason;
  try {
    reason = governor_->check_admin(question, rule.browser == Browser::own_write);
  } catch (const std::exception&) {
    throw Refusal(Http::unavailable, "the policy could not be asked, or the action could not be recorded");
  }
  if (reason) throw refused_by_policy("action '" + question.action + "'", *reason);
}

bool Gate::check_tensors(const Tenants::Identity& identity, std::string_view model) const {
  if (!shows_tensors()) return false;
  check_action({.access = Access::tenant, .browser = Browser::own_host, .action = "tap"}, identity, model);
  return true;
}

bool Gate::is_on(Feature feature) const {
  const Switch* const needed = switch_of(feature);
  return needed == nullptr || (*network()).*(needed->on);
}

void Gate::check_on(Feature feature) const {
  if (!is_on(feature)) forbid(switch_of(feature)->text);
}

bool Gate::shows_tensors() const { return network()->tensors; }

void Gate::replace(const NetworkConfig& network) {
  auto next = std::make_shared<const NetworkConfig>(network);
  const std::scoped_lock lock(mutex_);
  network_.swap(next);
}

std::shared_ptr<const NetworkConfig> Gate::network() const {
  const std::scoped_lock lock(mutex_);
  return network_;
}

}  // namespace frazil::server
