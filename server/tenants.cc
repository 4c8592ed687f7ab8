#include "server/tenants.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "server/digest.h"

namespace frazil::server {

using Clock = std::chrono::steady_clock;

struct Tenants::Account {
  explicit Account(const Tenant& tenant_) : tenant(tenant_), tokens(tenant_.requests_per_second.value_or(0)) {}

  const Tenant tenant;
  std::atomic<std::uint64_t> requests = 0, refused = 0, waiting = 0;
  std::mutex mutex;  // of what follows
  double tokens;     // of requests; one second's are kept at most
  Clock::time_point filled = Clock::now();

  bool take_token() {
    if (!tenant.requests_per_second) return true;
    const double rate = *tenant.requests_per_second, most = std::max(rate, 1.0);
    const std::scoped_lock lock(mutex);
    const auto now = Clock::now();
    tokens = std::min(most, tokens + rate * std::chrono::duration<double>(now - filled).count());
    filled = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  }
};

Tenants::Tenants(const std::vector<Tenant>& tenants) {
  for (const Tenant& tenant : tenants) {
    accounts_.push_back(std::make_unique<Account>(tenant));
    for (const std::string& key : tenant.keys) by_key_.emplace(sha256(key), accounts_.back().get());
  }
}

Tenants::~Tenants() = default;

Tenants::Account* Tenants::account_of(std::string_view authorization) const {
  constexpr std::string_view kBearer = "Bearer ";
  if (accounts_.empty()) return nullptr;
  const bool bearer = authorization.starts_with(kBearer);
  const auto at = bearer ? by_key_.find(sha256(authorization.substr(kBearer.size()))) : by_key_.end();
  if (at == by_key_.end()) {
    throw Refusal(Http::unauthorized, "the header Authorization has no known key: expected \"Bearer KEY\"");
  }
  return at->second;
}

void Tenants::check(std::string_view authorization, std::string_view model) const {
  const Account* const account = account_of(authorization);
  if (account == nullptr || model.empty() || account->tenant.models.empty()) return;
  if (std::ranges::find(account->tenant.models, model) != account->tenant.models.end()) return;
  throw Refusal(Http::forbidden,
                "tenant '" + account->tenant.name + "' may not use model '" + std::string(model) + "'");
}

Tenants::Place Tenants::enter(std::string_view authorization) const {
  Account* const account = account_of(authorization);
  if (account == nullptr) return nullptr;
  const Tenant& tenant = account->tenant;
  const auto refuse = [&](const std::string& why) {
    account->refused.fetch_add(1, std::memory_order_relaxed);
    throw Refusal(Http::too_many, "tenant '" + tenant.name + "' " + why);
  };
  if (!account->take_token()) refuse("has sent more requests than his share of a second");
  const std::uint64_t waiting = account->waiting.fetch_add(1, std::memory_order_relaxed);
  const Place place(account, [](Account* a) { a->waiting.fetch_sub(1, std::memory_order_relaxed); });
  if (tenant.most_waiting != 0 && waiting >= tenant.most_waiting) {
    refuse("has too many requests waiting: " + std::to_string(waiting));
  }
  account->requests.fetch_add(1, std::memory_order_relaxed);
  return place;
}

std::vector<Tenants::Counts> Tenants::counts() const {
  std::vector<Counts> list;
  for (const auto& a : accounts_) {
    list.push_back({.name = a->tenant.name, .requests = a->requests, .refused = a->refused, .waiting = a->waiting});
  }
  return list;
}

}  // namespace frazil::server
