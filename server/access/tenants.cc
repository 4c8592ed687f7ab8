#include "server/access/tenants.h"

#include <algorithm>
#include <chrono>
#include <map>

#include <frazil/error.h>

#include "server/core/clock.h"
#include "server/core/digest.h"

namespace frazil::server {
namespace {

/// The counters of a tenant, which persist across reloads of the configuration.
struct Usage {
  std::atomic<std::uint64_t> requests = 0, refused = 0, waiting = 0;
  std::mutex mutex;   // guards the members below
  double tokens = 0;  // requests; at most those of one second
  Clock::time_point filled = {};

  /// Returns true if a request is available in the token bucket, and removes `taken` tokens.
  bool has_token(double rate, double taken) {
    const std::scoped_lock lock(mutex);
    const auto now = Clock::now();
    tokens = std::min(std::max(rate, 1.0), tokens + rate * std::chrono::duration<double>(now - filled).count());
    filled = now;
    if (tokens < 1) return false;
    tokens -= taken;
    return true;
  }
};

/// Returns the number of a tenant's name, from 1. Names are never forgotten.
std::uint32_t number_of_tenant(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::uint32_t> numbers;
  const std::scoped_lock lock(mutex);
  return numbers.emplace(name, numbers.size() + 1).first->second;
}

std::string expect_digest(const Tenant& tenant, const std::string& key) {
  if (auto sum = digest_of_key(key)) return std::move(*sum);
  throw api::Error(api::Code::bad_input,
                   "tenant '" + tenant.name + "': a key has no 64 hexadecimal digits after sha256:");
}

}  // namespace

struct Tenants::Account {
  Tenant tenant;
  std::shared_ptr<Usage> usage;
  std::uint32_t number = 0;

  /// Returns the refusal of a request beside `others` running ones. `taken` is the number of tokens to remove.
  std::optional<Refusal> refusal(std::uint64_t others, double taken) const {
    const auto refuse = [&](const std::string& why) {
      usage->refused.fetch_add(1, std::memory_order_relaxed);
      return Refusal::plain(Http::too_many, "tenant '" + tenant.name + "' " + why);
    };
    if (tenant.requests_per_second && !usage->has_token(*tenant.requests_per_second, taken)) {
      return refuse("exceeds its requests_per_second");
    }
    if (tenant.max_waiting == 0 || others < tenant.max_waiting) return std::nullopt;
    return refuse("has too many requests waiting: " + std::to_string(others));
  }
};

struct Tenants::List {
  std::vector<std::shared_ptr<const Account>> accounts;
  using Map = std::map<std::string, std::shared_ptr<const Account>, std::less<>>;
  Map by_key;  // by SHA-256 of the key, so that the time of a look-up does not reveal it
  Map by_certificate;

  std::shared_ptr<const Account> find(std::string_view authorization, std::span<const std::string> certificate) const {
    constexpr std::string_view kBearer = "Bearer ";
    if (authorization.starts_with(kBearer)) return at(by_key, sha256(authorization.substr(kBearer.size())));
    for (const std::string& name : certificate) {
      if (auto account = at(by_certificate, name); account != nullptr && authorization.empty()) return account;
    }
    return nullptr;
  }

 private:
  static std::shared_ptr<const Account> at(const Map& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : found->second;
  }
};

// ---- Identity ----

const std::string& Tenants::Identity::name() const {
  static const std::string nobody;
  return account_ == nullptr ? nobody : account_->tenant.name;
}

std::uint32_t Tenants::Identity::number() const { return account_ == nullptr ? 0 : account_->number; }

bool Tenants::Identity::may_use(std::string_view model) const {
  if (account_ == nullptr || account_->tenant.models.empty()) return true;
  return std::ranges::find(account_->tenant.models, model) != account_->tenant.models.end();
}

bool Tenants::Identity::is_admin() const { return account_ == nullptr || account_->tenant.admin; }

bool Tenants::Identity::sees(std::string_view tenant) const { return is_admin() || account_->tenant.name == tenant; }

void Tenants::Identity::check(std::string_view model) const {
  if (may_use(model)) return;
  throw Refusal(Http::forbidden, "tenant '" + name() + "' may not use model '" + std::string(model) + "'");
}

void Tenants::Identity::check_admin() const {
  if (is_admin()) return;
  throw Refusal::plain(Http::forbidden,
                       "tenant '" + name() + "' is not an administrator: expected one with admin: true");
}

std::optional<Refusal> Tenants::Identity::refusal() const {
  if (account_ == nullptr) return std::nullopt;
  return account_->refusal(account_->usage->waiting.load(std::memory_order_relaxed), 0);
}

std::expected<Tenants::Place, Refusal> Tenants::Identity::enter() const {
  if (account_ == nullptr) return nullptr;
  const std::shared_ptr<Usage>& usage = account_->usage;
  const std::uint64_t waiting = usage->waiting.fetch_add(1, std::memory_order_relaxed);
  Place place(usage.get(), [usage](Usage* u) { u->waiting.fetch_sub(1, std::memory_order_relaxed); });
  if (auto why = account_->refusal(waiting, 1)) return std::unexpected(std::move(*why));
  usage->requests.fetch_add(1, std::memory_order_relaxed);
  return place;
}

// ---- Tenants ----

Tenants::Tenants(const std::vector<Tenant>& tenants) : list_(std::make_shared<const List>()) { replace(tenants); }

Tenants::~Tenants() = default;

void Tenants::replace(const std::vector<Tenant>& tenants) {
  auto next = std::make_shared<List>();
  const auto before = list();
  for (const Tenant& tenant : tenants) {
    const auto old = std::ranges::find(before->accounts, tenant.name, [](const auto& a) { return a->tenant.name; });
    auto account = std::make_shared<const Account>(
        Account{.tenant = tenant,
                .usage = old != before->accounts.end() ? (*old)->usage : std::make_shared<Usage>(),
                .number = number_of_tenant(tenant.name)});
    for (const std::string& key : tenant.keys) next->by_key.emplace(expect_digest(tenant, key), account);
    for (const std::string& name : tenant.certificates) next->by_certificate.emplace(name, account);
    next->accounts.push_back(std::move(account));
  }
  const std::scoped_lock lock(mutex_);
  any_ = !tenants.empty();
  list_ = std::move(next);
}

std::shared_ptr<const Tenants::List> Tenants::list() const {
  const std::scoped_lock lock(mutex_);
  return list_;
}

std::optional<Tenants::Identity> Tenants::find_known(std::string_view authorization,
                                                     std::span<const std::string> certificate) const {
  if (!any_.load(std::memory_order_acquire)) return Identity();
  const auto now = list();
  auto account = now->find(authorization, certificate);
  if (account == nullptr && !now->accounts.empty()) return std::nullopt;
  return Identity(std::move(account));
}

Tenants::Identity Tenants::find(std::string_view authorization, std::span<const std::string> certificate) const {
  if (auto identity = find_known(authorization, certificate)) return std::move(*identity);
  throw Refusal::plain(
      Http::unauthorized,
      certificate.empty() || !authorization.empty()
          ? "the header Authorization has no known key: expected \"Bearer KEY\""
          : "the client's certificate belongs to no tenant: expected a known certificate, or the header Authorization");
}

std::vector<Tenants::Counts> Tenants::counts() const {
  std::vector<Counts> counts;
  for (const auto& account : list()->accounts) {
    const Usage& usage = *account->usage;
    counts.push_back(
        {.name = account->tenant.name, .requests = usage.requests, .refused = usage.refused, .waiting = usage.waiting});
  }
  return counts;
}

}  // namespace frazil::server
