#include "server/service/spent_today.h"

#include <filesystem>

#include "govern/audit/log_reader.h"
#include "govern/base/json.h"

namespace frazil::server {

std::map<std::string, std::int64_t> spent_today(const std::string& folder, std::int64_t now_ms) {
  constexpr std::int64_t kDayMs = 86'400'000;
  std::map<std::string, std::int64_t> spent;
  std::error_code none;
  if (!std::filesystem::exists(std::filesystem::path(folder) / "checkpoint", none)) return spent;
  const govern::ReadFilter today{
      .kinds = {"request", "cost"}, .tenant = {}, .from = now_ms - now_ms % kDayMs, .to = std::nullopt};
  govern::read_log(folder, today, [&](std::uint64_t index, const std::string& entry) {
    const govern::Json event = govern::parse_json(entry, "entry " + std::to_string(index));
    const bool is_tenants = event.at("kind") == "request" || event.at("account") == "late";
    if (!is_tenants) return;
    const std::int64_t cost = event.value("cost", std::int64_t{0});
    spent[event.value("tenant", "")] += event.value("charge", cost);
  });
  return spent;
}

}  // namespace frazil::server
