#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "govern/gate/governor.h"
#include "server/access/tenants.h"
#include "server/config/server_config.h"

namespace frazil::server {

/// The callers that a rule admits. Without configured tenants every caller is an administrator.
enum class Access : std::uint8_t {
  nobody,     ///< a route without a rule
  everybody,  ///< also callers without a key
  tenant,     ///< any tenant; the answer contains only what this tenant may see
  model,      ///< tenants that may use the model that the request names
  admin,      ///< tenants with `admin: true`
};

/// A setting that a route requires to be enabled.
enum class Feature : std::uint8_t { none, model_control, replay, client_shm };

/// The requests of web browsers that a rule admits. Each level adds a condition to those above it.
enum class Browser : std::uint8_t {
  any_page,   ///< no condition: a read of no use to a foreign page
  own_page,   ///< no foreign `Origin`
  own_host,   ///< a `Host` that names this server
  own_write,  ///< no content type that a foreign page can send without a preflight request
};

/// The conditions of a route. The default refuses all callers.
struct Rule {
  Access access = Access::nobody;
  Feature feature = Feature::none;
  Browser browser = Browser::own_write;
  std::string_view action = {};  ///< of hook `admin`, which is asked after admission; empty: the hook is not asked
};

// The rules that protocols share.
inline constexpr Rule kOpenRule{.access = Access::everybody, .browser = Browser::any_page};
inline constexpr Rule kTenantRule{.access = Access::tenant, .browser = Browser::any_page};
inline constexpr Rule kModelRule{.access = Access::model, .browser = Browser::any_page};
inline constexpr Rule kInferRule{.access = Access::model, .browser = Browser::own_page};
inline constexpr Rule kSharedMemoryRule{
    .access = Access::tenant, .feature = Feature::client_shm, .browser = Browser::own_write, .action = "shared_memory"};
/// Returns the rule of a route that changes what is shared.
constexpr Rule control_rule(std::string_view action) {
  return {.access = Access::admin, .feature = Feature::model_control, .browser = Browser::own_write, .action = action};
}

/// The headers that the gate reads. The texts are valid while the request is being read.
struct Credentials {
  std::string_view authorization = {};
  std::span<const std::string> certificate = {};  ///< names in the client's certificate
  std::string_view host = {};                     ///< `Host`, or `:authority` of HTTP/2
  std::optional<std::string_view> origin = {};
  std::string_view content_type = {};
};

/// The single place that authorises requests, for all protocols, ports and sockets. Thread-safe.
class Gate {
 public:
  /// `tenants` outlives the gate. `governor`: the policy; null: none.
  Gate(const Tenants& tenants, const NetworkConfig& network, std::shared_ptr<govern::Governor> governor = nullptr);

  /// Returns the caller. Throws Refusal: unauthorized for an unknown caller, forbidden for a rule that is not met. For
  /// Access::model, the caller must also call Identity::check() with the model's name.
  Tenants::Identity admit(const Rule& rule, const Credentials& by) const;
  /// Asks hook `admin` for the action of a rule, once for an admitted request. `model`: that the request names; empty:
  /// all. Throws Refusal (forbidden). The action is recorded, and that of a route that changes something is on disk
  /// when this returns.
  void check_action(const Rule& rule, const Tenants::Identity& identity, std::string_view model) const;
  /// Checks an access to values of tensors, as check_action() does. Returns whether answers contain them: see
  /// shows_tensors().
  bool check_tensors(const Tenants::Identity& identity, std::string_view model) const;
  govern::Governor* governor() const { return governor_.get(); }
  bool is_on(Feature feature) const;
  /// Throws Refusal (forbidden), which says how to turn it on, unless a feature is on.
  void check_on(Feature feature) const;
  /// Returns true if answers may contain the values of stored tensors.
  bool shows_tensors() const;
  /// Replaces the enabled features for subsequent requests.
  void replace(const NetworkConfig& network);

 private:
  std::shared_ptr<const NetworkConfig> network() const;

  const Tenants& tenants_;
  const std::shared_ptr<govern::Governor> governor_;
  mutable std::mutex mutex_;  // guards the members below
  std::shared_ptr<const NetworkConfig> network_;
};

/// Returns true if a `Host` names this server: an IP address, localhost, the machine's name, or one of `names`. The
/// name "*" matches every host.
bool names_this_server(std::string_view host, std::span<const std::string> names);

}  // namespace frazil::server
