#include "server/service/spent_today.h"

#include <filesystem>

#include "govern/audit/costs.h"

namespace frazil::server {

std::map<std::string, std::int64_t> spent_today(const std::string& folder, std::int64_t now_ms) {
  constexpr std::int64_t kDayMs = 86'400'000;
  std::map<std::string, std::int64_t> spent;
  std::error_code none;
  if (!std::filesystem::exists(std::filesystem::path(folder) / "checkpoint", none)) return spent;
  for (const auto& [key, sum] : govern::read_costs(folder, now_ms - now_ms % kDayMs, std::nullopt)) {
    const auto& [tenant, model, version, account] = key;
    if (account == "request" || account == "late") spent[tenant] += static_cast<std::int64_t>(sum.charge);
  }
  return spent;
}

}  // namespace frazil::server
