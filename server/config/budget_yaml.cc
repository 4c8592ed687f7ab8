#include "server/config/budget_yaml.h"

#include "server/config/model_config.h"

namespace frazil::server {
namespace {

constexpr double kLeastMs = 1e-6, kMostCostMs = 1e12, kMostPrice = 1e6;

/// Returns a reader of a number of milliseconds.
std::function<void(const YamlNode&)> cost_into(std::optional<double>& to) {
  return [&to](const YamlNode& node) { to = node.number(kLeastMs, kMostCostMs); };
}

std::function<void(const YamlNode&)> bytes_into(std::optional<std::uint64_t>& to) {
  return [&to](const YamlNode& node) {
    to = node.bytes();
    if (*to == 0) node.expected("at least 1 byte");
  };
}

void expect_some(const YamlNode& node, const char* keys) {
  if (node.entries().empty()) node.fail(std::string("expected ") + keys);
}

void read_per_request(const YamlNode& node, BudgetConfig& budget) {
  node.fields({{"cost_ms", cost_into(budget.request_cost_ms)},
               {"memory", bytes_into(budget.request_memory)},
               {"time_ms", [&](const YamlNode& x) { budget.request_time_ms = x.number(0.001, kMaxMilliseconds); }}});
  expect_some(node, "at least one of cost_ms, memory and time_ms");
}

void read_per_second(const YamlNode& node, BudgetConfig& budget) {
  (void)node.at("cost_ms");
  node.fields({{"cost_ms", cost_into(budget.second_cost_ms)}, {"burst_ms", cost_into(budget.burst_ms)}});
}

Reserve read_reserve(const YamlNode& node) {
  const std::string text = node.name();
  if (text != "worst" && text != "forecast") node.expected("worst or forecast");
  return text == "worst" ? Reserve::worst : Reserve::forecast;
}

}  // namespace

BudgetConfig read_budget(const YamlNode& node) {
  BudgetConfig budget;
  const auto read_per_day = [&](const YamlNode& x) {
    (void)x.at("cost_ms");
    x.fields({{"cost_ms", cost_into(budget.day_cost_ms)}});
  };
  node.fields({{"per_request", [&](const YamlNode& x) { read_per_request(x, budget); }},
               {"per_day", read_per_day},
               {"per_second", [&](const YamlNode& x) { read_per_second(x, budget); }},
               {"memory", bytes_into(budget.memory)}});
  expect_some(node, "at least one of per_request, per_day, per_second and memory");
  return budget;
}

CostConfig read_cost(const YamlNode& node) {
  CostConfig cost;
  node.fields({{"reserve", [&](const YamlNode& x) { cost.reserve = read_reserve(x); }},
               {"prices", [&](const YamlNode& x) {
                  for (const auto& [model, price] : x.entries()) cost.prices[model] = price.number(0, kMostPrice);
                }}});
  return cost;
}

}  // namespace frazil::server
