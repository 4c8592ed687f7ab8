// Budgets of tenants: what is refused, and that no interleaving overspends.
#include "server/access/budget.h"

#include <latch>
#include <random>
#include <thread>

#include <gmock/gmock.h>

#include "server/access/request_cost.h"

namespace frazil::test {
namespace {

using server::Amount;
using server::Budget;
using server::BudgetConfig;
using server::CostAccount;
using server::Nanoseconds;
using std::chrono::hours;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;
const Budget::Time kMidnight = Budget::Time(std::chrono::days(20'000));
const Budget::Time kNoon = kMidnight + hours(12);

/// Returns "admitted", or the rule, the seconds until a retry and the text.
std::string answer_to(Budget& budget, const Amount& amount, Budget::Time now = kNoon) {
  const auto result = budget.reserve(amount, {}, now);
  if (result) return "admitted";
  return result.error().rule + " " + std::to_string(result.error().refusal.retry_after_s()) + ": " +
         result.error().refusal.what();
}

TEST(Budget, EachLimitRefusesWithItsRule) {
  const struct {
    BudgetConfig limits;
    Amount amount;
    std::string expected;
  } kCases[] = {
      {{}, {.cost = 1000 * kMs, .memory = 1U << 30U}, "admitted"},
      {{.request_cost_ms = 5}, {.cost = 5 * kMs}, "admitted"},
      {{.request_cost_ms = 5},
       {.cost = 6 * kMs},
       "per_request.cost_ms 0: tenant 'shop': budget per_request.cost_ms: the request may cost 6 ms, its budget is 5 "
       "ms"},
      {{.request_memory = 10},
       {.memory = 11},
       "per_request.memory 0: tenant 'shop': budget per_request.memory: the request may need 11 bytes of memory, 10 "
       "are allowed"},
      {{.day_cost_ms = 5},
       {.cost = 6 * kMs},
       "per_day.cost_ms 0: tenant 'shop': budget per_day.cost_ms: the request may cost 6 ms, 5 ms of 5 ms are left "
       "today"},
      {{.second_cost_ms = 5},
       {.cost = 6 * kMs},
       "per_second.cost_ms 0: tenant 'shop': budget per_second.cost_ms: the request may cost 6 ms, 5 ms are available "
       "now"},
      {{.second_cost_ms = 5, .burst_ms = 20}, {.cost = 20 * kMs}, "admitted"},
      {{.memory = 10},
       {.memory = 11},
       "memory 0: tenant 'shop': budget memory: the request may need 11 bytes of memory, 10 are allowed to all "
       "requests, 0 are in use"},
  };
  for (const auto& one : kCases) {
    Budget budget("shop");
    budget.set(one.limits);
    EXPECT_EQ(answer_to(budget, one.amount), one.expected);
  }
}

TEST(Budget, ARetryIsSuggestedForWhenItMaySucceed) {
  Budget budget("");
  budget.set(BudgetConfig{.day_cost_ms = 10});
  EXPECT_EQ(answer_to(budget, {.cost = 8 * kMs}), "admitted");
  EXPECT_THAT(answer_to(budget, {.cost = 8 * kMs}), HasSubstr("per_day.cost_ms 1: budget")) << "a running one has it";
  EXPECT_EQ(budget.settle({.cost = 8 * kMs}, 7 * kMs, kNoon), 7 * kMs);
  EXPECT_THAT(answer_to(budget, {.cost = 8 * kMs}), HasSubstr("per_day.cost_ms 43200: budget")) << "at midnight";

  Budget rate("");
  rate.set(BudgetConfig{.second_cost_ms = 10, .burst_ms = 100});
  EXPECT_EQ(answer_to(rate, {.cost = 100 * kMs}), "admitted");
  EXPECT_THAT(answer_to(rate, {.cost = 50 * kMs}), HasSubstr("per_second.cost_ms 5: budget"));
  EXPECT_EQ(answer_to(rate, {.cost = 50 * kMs}, kNoon + seconds(5)), "admitted");
}

TEST(Budget, ADayBeginsAtMidnightUtc) {
  Budget budget("");
  budget.set(BudgetConfig{.day_cost_ms = 10});
  const Amount six{.cost = 6 * kMs};
  EXPECT_EQ(answer_to(budget, six, kMidnight - seconds(10)), "admitted");
  budget.settle(six, 6 * kMs, kMidnight - seconds(9));
  EXPECT_NE(answer_to(budget, six, kMidnight - seconds(8)), "admitted");
  EXPECT_EQ(answer_to(budget, six, kMidnight), "admitted");
  EXPECT_EQ(budget.state(kMidnight).spent, 0);
  // A request that began before midnight is paid by the day in which it ends.
  budget.settle(six, 3 * kMs, kMidnight + hours(24));
  EXPECT_EQ(budget.state(kMidnight + hours(24)).spent, 3 * kMs);
  EXPECT_EQ(budget.state(kMidnight + hours(25)).left, 7 * kMs);
}

TEST(Budget, AReloadKeepsWhatWasSpent) {
  server::ServerConfig config;
  config.tenants = {{.name = "shop", .budget = BudgetConfig{.day_cost_ms = 10}}};
  server::Budgets budgets(config);
  const auto shop = budgets.of("shop");
  EXPECT_EQ(answer_to(*shop, {.cost = 8 * kMs}), "admitted");
  shop->settle({.cost = 8 * kMs}, 8 * kMs, kNoon);
  config.tenants[0].budget->day_cost_ms = 12;
  budgets.replace(config);
  EXPECT_EQ(shop->state(kNoon).left, 4 * kMs);
  config.tenants[0].budget.reset();
  budgets.replace(config);
  EXPECT_EQ(shop->state(kNoon).left, std::nullopt);
  EXPECT_EQ(answer_to(*shop, {.cost = 1000 * kMs}), "admitted");
  shop->settle({.cost = 1000 * kMs}, 1 * kMs, kNoon);
  config.tenants[0].budget = BudgetConfig{.day_cost_ms = 5};
  budgets.replace(config);
  EXPECT_EQ(shop->state(kNoon).left, 0) << "less than was spent";
}

TEST(Budget, WhatWasSpentBeforeARestartCountsOnItsDay) {
  Budget budget("");
  budget.set(BudgetConfig{.day_cost_ms = 10});
  budget.restore(4 * kMs, kNoon, kNoon);
  budget.restore(5 * kMs, kNoon - hours(24), kNoon);
  EXPECT_EQ(budget.state(kNoon).left, 6 * kMs);
}

TEST(Budget, OfAHundredConcurrentRequestsTenAreAdmitted) {
  for (unsigned round = 0; round < 20; ++round) {
    constexpr int kThreads = 10, kEach = 10;
    Budget budget("");
    budget.set(BudgetConfig{.day_cost_ms = 10});
    std::atomic<int> admitted = 0;
    std::latch begin(kThreads);
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        begin.arrive_and_wait();
        for (int i = 0; i < kEach; ++i) admitted += budget.reserve({.cost = kMs}).has_value() ? 1 : 0;
      });
    }
    threads.clear();
    EXPECT_EQ(admitted, 10);
    EXPECT_EQ(budget.refused()["per_day.cost_ms"], 90U);
  }
}

/// Runs requests with random costs, of which some take longer than reserved, enter branches or are abandoned.
class RandomRequests {
 public:
  RandomRequests(std::shared_ptr<Budget> budget, std::shared_ptr<server::CostLedger> ledger, unsigned seed)
      : budget_(std::move(budget)), ledger_(std::move(ledger)), random_(seed) {}

  void run(int count) {
    for (int i = 0; i < count; ++i) run_one();
  }
  Nanoseconds busy{0};

 private:
  std::int64_t any(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(random_); }

  void run_one() {
    const auto bounds = std::make_shared<server::PathBounds>();
    bounds->extra_ns[this] = static_cast<double>(any(2 * kMs));
    auto cost = std::make_shared<server::RequestCost>(
        server::RequestCost::Payer{.ledger = ledger_, .budget = budget_, .tenant = "shop"});
    const auto reserved =
        cost->reserve(static_cast<double>(any(2 * kMs)), static_cast<std::uint64_t>(any(100)), bounds, std::nullopt);
    if (!reserved) return;
    if (any(3) == 0) (void)cost->enter_branch(this);
    const Nanoseconds time(any(4 * kMs));
    busy += time;
    cost->add_busy(time);
    if (any(3) != 0) cost->settle();
    cost.reset();  // also without an end, as of a lost client
    const std::int64_t limit = 200 * kMs;
    const Budget::State state = budget_->state();
    EXPECT_LE(state.spent + state.reserved, limit);
  }

  std::shared_ptr<Budget> budget_;
  std::shared_ptr<server::CostLedger> ledger_;
  std::mt19937_64 random_;
};

TEST(Budget, NoInterleavingOverspends) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const auto budget = std::make_shared<Budget>("shop");
    budget->set(BudgetConfig{.day_cost_ms = 200, .memory = 300});
    const auto ledger = std::make_shared<server::CostLedger>();
    std::vector<std::unique_ptr<RandomRequests>> all;
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      all.push_back(std::make_unique<RandomRequests>(budget, ledger, seed * 4 + t));
      threads.emplace_back([requests = all.back().get()] { requests->run(200); });
    }
    threads.clear();
    Nanoseconds busy{0};
    for (const auto& requests : all) busy += requests->busy;
    const Budget::State state = budget->state();
    EXPECT_EQ(state.reserved, 0);
    EXPECT_EQ(state.memory, 0U);
    EXPECT_LE(state.spent, 200 * kMs);
    const auto rows = ledger->rows();
    EXPECT_EQ(rows.at({"shop", CostAccount::request}).count(), state.spent);
    EXPECT_EQ(rows.at({"shop", CostAccount::request}) + rows.at({"", CostAccount::excess}), busy);
  }
}

TEST(RequestCost, WorkAfterTheEndIsOfAnAccountOfItsOwn) {
  const auto ledger = std::make_shared<server::CostLedger>();
  {
    server::RequestCost cost({.ledger = ledger, .tenant = "shop"});
    cost.add_busy(Nanoseconds(5));
    EXPECT_EQ(cost.settle().count(), 5);
    cost.add_busy(Nanoseconds(7));
    EXPECT_EQ(cost.settle().count(), 5) << "it is settled once";
    cost.beside(CostAccount::shadow)->add_busy(Nanoseconds(11));
  }
  EXPECT_THAT(ledger->rows(),
              testing::ElementsAre(testing::Pair(server::CostLedger::Key("", CostAccount::shadow), Nanoseconds(11)),
                                   testing::Pair(server::CostLedger::Key("shop", CostAccount::request), Nanoseconds(5)),
                                   testing::Pair(server::CostLedger::Key("shop", CostAccount::late), Nanoseconds(7))));
}

TEST(RequestCost, APriceMultipliesWhatTheBudgetPays) {
  const auto ledger = std::make_shared<server::CostLedger>();
  const auto budget = std::make_shared<Budget>("");
  budget->set(BudgetConfig{.day_cost_ms = 9});
  server::RequestCost cost({.ledger = ledger, .budget = budget, .price = 3});
  EXPECT_TRUE(cost.reserve(2 * kMs, 0, nullptr, std::nullopt));
  EXPECT_EQ(budget->state().reserved, 6 * kMs);
  cost.add_busy(Nanoseconds(4 * kMs));
  EXPECT_EQ(cost.settle().count(), 3 * kMs) << "the budget pays 9 ms at a price of 3";
  EXPECT_EQ(budget->state().spent, 9 * kMs);
  EXPECT_EQ(ledger->rows().at({"", CostAccount::excess}).count(), 1 * kMs);
}

TEST(BusyScope, TimesOfNestedScopesAddUp) {
  const auto outer = std::make_shared<server::BusyTotal>(), inner = std::make_shared<server::BusyTotal>(),
             later = std::make_shared<server::BusyTotal>();
  const auto spin = [] {
    for (const auto until = server::Clock::now() + std::chrono::microseconds(50); server::Clock::now() < until;) {
    }
  };
  const auto before = server::Clock::now();
  Nanoseconds within{0}, of_inner{0};
  {
    const server::BusyScope scope(outer);
    const auto begun = server::Clock::now();
    spin();
    {
      const server::BusyScope nested(inner);
      const auto nested_begun = server::Clock::now();
      spin();
      server::BusyScope::charge_all();
      EXPECT_GE(inner->total(), std::chrono::microseconds(50));
      EXPECT_GE(outer->total(), std::chrono::microseconds(50));
      server::BusyScope::replace(*outer, later);
      of_inner = server::Clock::now() - nested_begun;
    }
    spin();
    within = server::Clock::now() - begun;
  }
  const Nanoseconds all = server::Clock::now() - before, sum = outer->total() + inner->total() + later->total();
  EXPECT_GE(sum, within);
  EXPECT_LE(sum, all);
  EXPECT_GE(inner->total(), of_inner);
  EXPECT_GE(later->total(), std::chrono::microseconds(50));
}

}  // namespace
}  // namespace frazil::test
