#include "server/model/request_counts.h"

namespace frazil::server {
namespace {

std::int64_t milliseconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

void count_end(Statistics& statistics, Clock::duration time, const Outcome& outcome) {
  statistics.pending.fetch_sub(1, std::memory_order_relaxed);
  statistics.duration.add(time);
  if (outcome) {
    statistics.success.add(time);
    statistics.last_inference_ms = milliseconds_since_1970();
    return;
  }
  statistics.fail.add(time);
  const Http status = outcome.error().status();
  if (status == Http::cancelled) statistics.cancelled.fetch_add(1, std::memory_order_relaxed);
  if (status == Http::too_many) statistics.rejected.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Statistics& RequestCounts::of(const Tenants::Identity& tenant) {
  const std::scoped_lock lock(mutex_);
  return tenants_[tenant.name()];
}

void RequestCounts::begin(const Tenants::Identity& identity) {
  add(identity, [](Statistics& s) { s.pending.fetch_add(1, std::memory_order_relaxed); });
}

void RequestCounts::end(const Tenants::Identity& identity, Clock::duration time, const Outcome& outcome) {
  add(identity, [&](Statistics& s) { count_end(s, time, outcome); });
}

void RequestCounts::add_unread(const Tenants::Identity& identity, Clock::time_point arrived, const Refusal& why) {
  begin(identity);
  end(identity, Clock::now() - arrived, std::unexpected(why));
}

void RequestCounts::add_part(const Tenants::Identity& identity, Clock::duration time, bool first) {
  add(identity, [&](Statistics& s) {
    if (first) {
      s.first_part.add(time);
      s.first_part_time.add(time);
    }
    s.parts.fetch_add(1, std::memory_order_relaxed);
  });
}

}  // namespace frazil::server
