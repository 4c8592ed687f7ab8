#include "server/service/config_policy.h"

#include <algorithm>

#include "server/access/governed.h"

namespace frazil::server {
namespace {

using Setting = govern::ConfigQuestion::Setting;

/// Calls f(path, old, new) for each setting that differs; null for one that is absent.
template <class F>
void for_each_difference(const ServerConfig::Settings& before, const ServerConfig::Settings& after, F f) {
  for (const auto& [path, value] : before) {
    const auto now = after.find(path);
    if (now == after.end() || now->second != value) f(path, &value, now == after.end() ? nullptr : &now->second);
  }
  for (const auto& [path, value] : after) {
    if (!before.contains(path)) f(path, nullptr, &value);
  }
}

/// Returns whether a list of `before` has an item that `after` lacks. `list`: a word in the path of the list.
bool lost_item(const ServerConfig::Settings& before, const ServerConfig::Settings& after, std::string_view list) {
  const auto items_of = [&](const ServerConfig::Settings& settings) {
    std::vector<std::string> items;
    for (const auto& [path, value] : settings) {
      if (path.contains(list)) items.push_back(path.substr(0, path.find('[')) + value);
    }
    return items;
  };
  const std::vector<std::string> now = items_of(after);
  return std::ranges::any_of(items_of(before),
                             [&](const std::string& item) { return std::ranges::find(now, item) == now.end(); });
}

std::vector<govern::ConfigQuestion::Tenant> changed_tenants(const std::vector<Tenant>& before,
                                                            const std::vector<Tenant>& after) {
  std::vector<govern::ConfigQuestion::Tenant> changed;
  for (const Tenant& tenant : before) {
    const auto now = std::ranges::find(after, tenant.name, &Tenant::name);
    if (now == after.end()) changed.push_back({tenant.name, "remove"});
    if (now != after.end() && *now != tenant) changed.push_back({tenant.name, "change"});
  }
  for (const Tenant& tenant : after) {
    if (std::ranges::find(before, tenant.name, &Tenant::name) == before.end()) changed.push_back({tenant.name, "add"});
  }
  return changed;
}

}  // namespace

govern::ConfigQuestion config_question(const ServerConfig& before, const ServerConfig& after, std::string user) {
  govern::ConfigQuestion question{.user = std::move(user)};
  for_each_difference(before.settings, after.settings,
                      [&](const std::string& path, const std::string* old, const std::string* now) {
                        question.changes.push_back({.path = path,
                                                    .before = old == nullptr ? std::nullopt : std::optional(*old),
                                                    .after = now == nullptr ? std::nullopt : std::optional(*now)});
                      });
  question.tenants = changed_tenants(before.tenants, after.tenants);
  question.lowered_redaction =
      lost_item(before.settings, after.settings, "redact") || lost_item(before.settings, after.settings, "personal");
  question.lowered_sampling = after.paths.sample < before.paths.sample || after.paths.ring < before.paths.ring;
  question.lowered_witness = lost_item(before.settings, after.settings, "witness");
  return question;
}

PermittedChange::PermittedChange(std::shared_ptr<govern::Governor> governor, govern::ConfigQuestion question)
    : question_(std::move(question)) {
  if (governor == nullptr || (question_.changes.empty() && question_.tenants.empty())) return;
  std::optional<std::string> reason;
  try {
    reason = governor->check_config(question_);
  } catch (const std::exception& error) {
    throw Refusal(Http::unavailable, std::string("the policy could not be asked for the configuration, or the change "
                                                 "could not be recorded: ") +
                                         error.what());
  }
  if (reason) throw refused_by_policy("the configuration", *reason);
  governor_ = std::move(governor);
}

PermittedChange::~PermittedChange() {
  if (governor_ == nullptr) return;
  try {
    governor_->not_applied(question_);
  } catch (const std::exception&) {  // the log refuses all that follows, too
  }
}

}  // namespace frazil::server
