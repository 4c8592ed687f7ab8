#include "govern/audit/costs.h"

#include "govern/base/error.h"
#include "govern/base/json.h"

namespace frazil::govern {

std::map<CostKey, CostSum> read_costs(const std::string& folder, std::optional<std::int64_t> from,
                                      std::optional<std::int64_t> to) {
  std::map<CostKey, CostSum> sums;
  const ReadFilter filter{.kinds = {"request", "cost"}, .tenant = {}, .from = from, .to = to};
  read_log(folder, filter, [&](std::uint64_t index, const std::string& entry) {
    const Json event = parse_json(entry, fmt::format("entry {}", index));
    const bool is_request = event.at("kind") == "request";
    const auto text = [&](const char* member) { return event.value(member, std::string()); };
    CostSum& sum =
        sums[{text("tenant"), text("model"), text("version"), is_request ? std::string("request") : text("account")}];
    const std::uint64_t cost = event.value("cost", std::uint64_t{0});
    sum.requests += is_request ? 1 : 0;
    sum.nanoseconds += cost;
    sum.charge += event.value("charge", cost);
  });
  return sums;
}

}  // namespace frazil::govern
