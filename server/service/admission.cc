#include "server/service/admission.h"

#include <algorithm>
#include <string>

namespace frazil::server {

Clock::duration Admission::expected_wait(std::size_t ahead) const {
  const std::int64_t of_ahead = static_cast<std::int64_t>(ahead) * Nanoseconds(cost_.value()).count();
  const std::int64_t backlog = std::max<std::int64_t>(backlog_ns_.load(std::memory_order_relaxed), 0) + of_ahead;
  const auto waiting = static_cast<std::int64_t>(waiting_.load(std::memory_order_relaxed) + ahead);
  return std::max(Nanoseconds(backlog / workers_), gap_.value() * waiting);
}

void Admission::leave(Nanoseconds cost) {
  const std::size_t left = waiting_.fetch_sub(1, std::memory_order_relaxed) - 1;
  backlog_ns_.fetch_sub(cost.count(), std::memory_order_relaxed);
  const std::int64_t now = Nanoseconds(Clock::now().time_since_epoch()).count();
  const std::int64_t before = last_left_ns_.exchange(now, std::memory_order_relaxed);
  if (busy_.exchange(left >= workers_, std::memory_order_relaxed)) gap_.add(Nanoseconds(now - before));
}

/// Returns the expected cost of a request, or the refusal if there is no room. Does not throw: under overload, an
/// exception would cost half as much as a refusal.
std::expected<Nanoseconds, Refusal> Admission::admitted_cost(const IncomingRequest& arriving) {
  const auto refuse = [&](const std::string& why) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return std::unexpected(Refusal::plain(Http::too_many, why));
  };
  if (arriving.target != nullptr) {
    if (auto why = arriving.target->refusal()) return std::unexpected(std::move(*why));
  }
  const auto cost =
      std::chrono::nanoseconds(arriving.target != nullptr ? expected_cost(*arriving.target) : cost_.value());
  constexpr double kMargin = 0.8;  // safety margin, as a single request may exceed the mean
  if (arriving.time_left && *arriving.time_left <= Clock::duration::zero()) {
    return std::unexpected(Refusal(Http::timeout, "the time-out has passed before the request could run"));
  }
  if (const auto wait = expected_wait(arriving.ahead);
      arriving.time_left && wait + cost > *arriving.time_left * kMargin) {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    return refuse("it would be answered after " + std::to_string(Milliseconds(wait + cost).count()) +
                  " ms, its time-out is " + std::to_string(Milliseconds(*arriving.time_left).count()) + " ms");
  }
  const std::size_t waiting = waiting_.load(std::memory_order_relaxed) + arriving.ahead;
  if (waiting >= max_waiting_) return refuse("too many requests wait: " + std::to_string(waiting));
  return cost;
}

std::optional<Refusal> Admission::refusal(const IncomingRequest& arriving) {
  if (auto why = arriving.identity.refusal()) return why;
  auto cost = admitted_cost(arriving);
  return cost ? std::nullopt : std::optional(std::move(cost.error()));
}

std::expected<Admission::Place, Refusal> Admission::enter(const IncomingRequest& arriving) {
  auto tenant = arriving.identity.enter();
  if (!tenant) return std::unexpected(std::move(tenant.error()));
  const auto room = admitted_cost(arriving);
  if (!room) return std::unexpected(room.error());
  const Nanoseconds cost = *room;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  backlog_ns_.fetch_add(cost.count(), std::memory_order_relaxed);
  cost_.add(cost);
  return Place(this, [this, cost, tenant = std::move(*tenant)](const void*) { leave(cost); });
}

}  // namespace frazil::server
