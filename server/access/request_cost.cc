#include "server/access/request_cost.h"

#include <algorithm>
#include <cmath>

namespace frazil::server {
namespace {

constexpr double kMostCost = 0x1p60;

}  // namespace

RequestCost::~RequestCost() {
  settle();
  charge({}, Nanoseconds(busy_.exchange(0)),
         payer_.account == CostAccount::request ? CostAccount::late : payer_.account);
}

std::int64_t RequestCost::priced(double nanoseconds) const {
  return static_cast<std::int64_t>(std::ceil(std::min(nanoseconds * payer_.price, kMostCost)));
}

std::expected<void, OverBudget> RequestCost::reserve(double cost_ns, std::uint64_t memory,
                                                     std::shared_ptr<const PathBounds> bounds,
                                                     std::optional<Clock::time_point> deadline) {
  const std::scoped_lock lock(mutex_);
  bounds_ = std::move(bounds);
  deadline_ = deadline;
  const Amount wanted{.cost = priced(cost_ns), .memory = memory};
  auto result = payer_.budget->reserve(wanted);
  if (result) reserved_ = wanted;
  return result;
}

bool RequestCost::enter_branch(const void* block) {
  const std::scoped_lock lock(mutex_);
  if (payer_.budget == nullptr || bounds_ == nullptr || settled_) return true;
  const auto found = bounds_->extra_ns.find(block);
  if (found == bounds_->extra_ns.end()) return true;
  std::optional<double> extra = found->second;
  if (deadline_) {
    const double left = static_cast<double>(Nanoseconds(*deadline_ - Clock::now()).count()) * bounds_->width;
    extra = std::min(extra.value_or(left), std::max(left, 0.0));
  }
  if (!extra) return false;
  const Amount more{.cost = priced(*extra), .memory = 0};
  if (!payer_.budget->try_reserve(more, reserved_)) return false;
  reserved_.cost += more.cost;
  return true;
}

Nanoseconds RequestCost::settle() {
  const std::scoped_lock lock(mutex_);
  if (settled_) return *settled_;
  const Nanoseconds time(busy_.exchange(0));
  settled_ = charge(std::exchange(reserved_, {}), time, payer_.account);
  if (ratio_ != nullptr && bounds_ != nullptr && bounds_->cost_ns.value_or(0) > 0) {
    ratio_->add(static_cast<double>(time.count()) / *bounds_->cost_ns);
  }
  return *settled_;
}

/// Charges time to the budget and the ledger. Returns the part that the budget pays.
Nanoseconds RequestCost::charge(const Amount& reserved, Nanoseconds time, CostAccount account) {
  if (payer_.budget == nullptr) {
    payer_.ledger->add(payer_.tenant, account, time);
    return time;
  }
  const std::int64_t wanted = priced(static_cast<double>(time.count()));
  const std::int64_t paid = payer_.budget->settle(reserved, wanted);
  const auto part =
      paid == wanted ? time : Nanoseconds(static_cast<std::int64_t>(static_cast<double>(paid) / payer_.price));
  const Nanoseconds own = std::min(part, time);
  payer_.ledger->add(payer_.tenant, account, own);
  payer_.ledger->add("", CostAccount::excess, time - own);
  return own;
}

}  // namespace frazil::server
