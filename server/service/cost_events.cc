#include "server/service/cost_events.h"

namespace frazil::server {

CostFacts cost_facts(RequestCost* cost) {
  return cost == nullptr ? CostFacts() : CostFacts{.paid = cost->settle(), .price = cost->price()};
}

void add_cost(govern::Json& event, const CostFacts& facts) {
  if (!facts.paid) return;
  event["cost"] = static_cast<std::uint64_t>(facts.paid->count());
  if (facts.price == 1) return;
  event["charge"] = static_cast<std::uint64_t>(static_cast<double>(facts.paid->count()) * facts.price);
}

bool CostEvents::is_due() {
  constexpr std::int64_t kBetween = Nanoseconds(std::chrono::minutes(1)).count();
  if (audit_ == nullptr) return false;
  const std::int64_t now = Nanoseconds(Clock::now().time_since_epoch()).count();
  std::int64_t last = last_ns_.load(std::memory_order_relaxed);
  return now - last >= kBetween && last_ns_.compare_exchange_strong(last, now);
}

void CostEvents::write(const std::vector<std::shared_ptr<const Served>>& models, Nanoseconds server) {
  if (audit_ == nullptr) return;
  const std::scoped_lock lock(mutex_);
  for (const auto& served : models) {
    for (const auto& [key, time] : served->counts().costs()->rows()) {
      if (key.second == CostAccount::request) continue;
      write({served->name(), served->version(), key.first, std::string(name_of(key.second))}, time);
    }
  }
  write({"", "", "", "server"}, server);
}

void CostEvents::write(const Key& key, Nanoseconds all) {
  Nanoseconds& before = written_[key];
  if (all <= before) return;
  const auto& [model, version, tenant, account] = key;
  govern::Json event = {{"kind", "cost"},
                        {"model", model},
                        {"account", account},
                        {"cost", static_cast<std::uint64_t>((all - before).count())}};
  if (!version.empty()) event["version"] = version;
  if (!tenant.empty()) event["tenant"] = tenant;
  if (audit_->append(std::move(event))) before = all;
}

}  // namespace frazil::server
