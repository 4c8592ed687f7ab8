#include "server/service/refusals.h"

namespace frazil::server {

void Refusals::note(std::string_view protocol, unsigned status, std::string_view why, Clock::time_point now) {
  std::uint64_t since = 0;
  Clock::duration time{};
  {
    const std::scoped_lock lock(mutex_);
    Count& count = counts_[Kind(protocol, status)];
    ++count.all;
    time = now - count.last;
    if (count.reported > 0 && time < kBetween) return;
    since = count.all - std::exchange(count.reported, count.all);
    count.last = now;
  }
  std::string text = std::string(protocol) + " " + std::to_string(status);
  if (since > 1) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
    text += ", " + std::to_string(since) + " times in " + std::to_string(seconds) + " s, the last";
  }
  inform(notify_, "refused", text + ": " + std::string(why));
}

std::map<Refusals::Kind, std::uint64_t> Refusals::counts() const {
  const std::scoped_lock lock(mutex_);
  std::map<Kind, std::uint64_t> counts;
  for (const auto& [kind, count] : counts_) counts[kind] = count.all;
  return counts;
}

}  // namespace frazil::server
