// What requests cost: that accounts add up to the busy time of workers, and that budgets limit requests.
#include <barrier>
#include <random>

#include <gmock/gmock.h>

#include "govern/audit/audit_log.h"
#include "govern/audit/log_reader.h"
#include "server/asked.h"
#include "server/rest_asked.h"
#include "server/running.h"
#include "server/service/path_analysis.h"
#include "server/service/spent_today.h"

namespace frazil::test {
namespace {

using server::BudgetConfig;
using server::CostAccount;
using server::Http;
using server::Nanoseconds;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kCostOrigin = "example.org/costs";

/// A model of many operators, which costs more than kDouble.
std::string long_model() {
  std::string text = "graph g(%x: f32[N,2]) { %v0 = Sin(%x) ";
  for (int i = 1; i < 100; ++i) {
    text += "%v" + std::to_string(i) + " = Sin(%v" + std::to_string(i - 1) + ") ";
  }
  return text + "return y = %v99 }";
}

constexpr const char* kRouter = R"(
inputs: {x: 'f32[N,2]'}
steps:
  - name: answer
    switch:
      - {name: large, when: "param('size', 'large') == 'large'", model: long, inputs: {x: x}, cheaper: small}
      - {name: small, model: double, inputs: {x: x}}
outputs: {y: answer.y}
)";

class Costs : public testing::Test {
 protected:
  Costs() {
    folder_.add("double", kDouble);
    folder_.add("triple", kTriple);
    folder_.add("long", long_model());
    folder_.add("count", kCount);
    folder_.add("fails", kFails);
    folder_.write("router.yaml", kRouter);
  }
  void serve(const std::optional<BudgetConfig>& budget, unsigned workers = 2) {
    server::ServiceOptions options = options_of(folder_);
    options.workers = workers;
    options.audit = audit_;
    options.config = config_;
    options.config.governance.budget = budget;
    service_.emplace(std::move(options));
  }
  server::Outcome ask_for(const std::string& model, std::map<std::string, server::Parameter> parameters = {},
                          std::optional<std::uint64_t> timeout_us = {}) {
    return ask(*service_, {.model = model,
                           .inputs = {{"x", row({1, 2})}},
                           .parameters = std::move(parameters),
                           .timeout_us = timeout_us})
        .get();
  }
  std::string answer_of(const server::Outcome& outcome) {
    return outcome ? "answered"
                   : std::to_string(static_cast<int>(outcome.error().status())) + " " + outcome.error().what();
  }
  /// Calls a function while all workers wait, so that everything before has ended and is charged.
  void while_idle(const std::function<void()>& look) {
    const auto count = static_cast<std::ptrdiff_t>(service_->workers().count());
    const auto begin = std::make_shared<std::barrier<>>(count + 1), end = std::make_shared<std::barrier<>>(count + 1);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      service_->workers().post_to_worker([begin, end] {
        begin->arrive_and_wait();
        end->arrive_and_wait();
      });
    }
    begin->arrive_and_wait();
    look();
    end->arrive_and_wait();
  }
  std::map<CostAccount, Nanoseconds> accounts() {
    std::map<CostAccount, Nanoseconds> sums;
    for (const auto& served : service_->repository()->all()) {
      for (const auto& [key, time] : served->counts().costs()->rows()) sums[key.second] += time;
    }
    return sums;
  }
  Nanoseconds charged() {
    Nanoseconds all = service_->workers().other()->total();
    for (const auto& [account, time] : accounts()) all += time;
    return all;
  }
  double worst_ns(const std::string& model) {
    const auto served = service_->models().find(model, "");
    const server::KnownValue input{.ranked = true, .extents = {api::ExtentRange{1, 1}, api::ExtentRange{2, 2}}};
    return server::path_bounds(*served, {input}).cost_ns.value();
  }
  /// Asks, and returns "BRANCH: REASON" of each choice on the path.
  std::vector<std::string> taken_by(const std::string& model, std::map<std::string, server::Parameter> parameters = {},
                                    std::optional<std::uint64_t> timeout_us = {}) {
    EXPECT_EQ(answer_of(ask_for(model, std::move(parameters), timeout_us)), "answered");
    std::vector<std::string> taken;
    for (const auto& step : service_->paths().find({.most = 1}).at(0)->steps) {
      if (step.kind == "switch" || step.kind == "split") taken.push_back(step.taken + ": " + step.why);
    }
    return taken;
  }

  Folder folder_, log_;
  server::ServerConfig config_;
  std::shared_ptr<govern::AuditLog> audit_;
  std::optional<server::Service> service_;
};

// ---- attribution ----

/// Writes a pipeline of random nodes over the models.
std::string random_pipeline(std::mt19937& random) {
  const auto any = [&](std::initializer_list<const char*> texts) { return *(texts.begin() + random() % texts.size()); };
  const auto call = [&] { return std::string("model: ") + any({"double", "triple", "long"}) + ", inputs: {x: x}"; };
  std::string text = "inputs: {x: 'f32[N,2]'}\nsteps:\n";
  for (int i = 0; i < 3; ++i) {
    const std::string name = "  - name: s" + std::to_string(i) + "\n    ";
    const std::string two = "[{name: a, " + call() + "}, {name: b, " + call() + "}]";
    switch (random() % 6) {
      case 0: text += name + "race: " + two + "\n"; break;
      case 1: text += name + "ensemble: {blocks: " + two + "}\n"; break;
      case 2: text += name + "fallback: [{name: a, model: fails, inputs: {x: x}}, {name: b, " + call() + "}]\n"; break;
      case 3: text += name + "shadow: {share: 0.5, name: a, " + call() + "}\n"; break;
      case 4:
        text += name + "switch: [{name: a, when: \"param('k', 0) < 2\", " + call() + "}, {name: b, " + call() + "}]\n";
        break;
      default:
        text +=
            name + "split: {arms: [{name: a, share: 0.5, " + call() + "}, {name: b, share: 0.5, " + call() + "}]}\n";
    }
  }
  return text + "  - {name: last, model: double, inputs: {x: x}}\noutputs: {y: last.y}\n";
}

class Attribution : public Costs {
 protected:
  static constexpr int kPipelines = 6;

  /// Sends random requests, and returns the charged time and the busy time of the workers.
  std::pair<Nanoseconds, Nanoseconds> charged_and_busy() {
    Nanoseconds charged_before{0}, busy_before{0};
    while_idle([&] {
      charged_before = charged();
      busy_before = service_->workers().busy();
    });
    std::vector<std::future<server::Outcome>> answers;
    for (int i = 0; i < 300; ++i) answers.push_back(ask_at_random());
    for (auto& answer : answers) answer.wait();
    for (int i = 0; i < 3; ++i) while_idle([] {});  // shadows and checks are posted by others
    std::pair<Nanoseconds, Nanoseconds> times;
    while_idle([&] { times = {charged() - charged_before, service_->workers().busy() - busy_before}; });
    return times;
  }
  std::mt19937 random_{7};

 private:
  std::future<server::Outcome> ask_at_random() {
    const std::uint32_t pick = random_() % (kPipelines + 3);
    const std::string model = pick < kPipelines    ? "p" + std::to_string(pick)
                              : pick == kPipelines ? "triple"
                                                   : (random_() % 2 == 0 ? "long" : "fails");
    auto caller = std::make_shared<server::Caller>();
    if (random_() % 10 == 0) caller->leave();
    const auto rows = static_cast<std::int64_t>(1 + random_() % 3);
    return ask(*service_, {.model = model,
                           .inputs = {{"x", api::Array(api::Dtype::f32, {rows, 2})}},
                           .parameters = {{"k", std::int64_t{static_cast<int>(random_() % 4)}}},
                           .caller = std::move(caller)});
  }
};

TEST_F(Attribution, AccountsAddUpToTheBusyTimeOfWorkers) {
  for (int i = 0; i < kPipelines; ++i) folder_.write("p" + std::to_string(i) + ".yaml", random_pipeline(random_));
  config_.models["triple"].batching = {.most = 16, .delay = std::chrono::microseconds(300)};
  config_.models["long"].batching = {.most = 16, .regroup = server::Regroup::always};
  config_.models["double"].warm_up = 2;
  config_.paths.check = 0.1;
  serve(std::nullopt);
  // The two clocks differ if the system takes the core between their readings. That is rare, and lost time is not.
  double lost = 1;
  for (int round = 0; round < 5 && lost > 0.01; ++round) {
    const auto [charged, busy] = charged_and_busy();
    EXPECT_LE(charged, busy);
    lost = 1 - static_cast<double>(charged.count()) / static_cast<double>(busy.count());
  }
  EXPECT_LE(lost, 0.01);
  const auto of = accounts();
  for (const auto account : {CostAccount::request, CostAccount::shadow, CostAccount::check, CostAccount::warm_up}) {
    EXPECT_GT(of.contains(account) ? of.at(account).count() : 0, 0) << name_of(account);
  }
}

TEST_F(Costs, EachTenantPaysForItsRequestOfABatch) {
  folder_.add("padded", "graph g(%x: f32[B,L]) { %y = Sin(%x) return y = %y }");
  server::Batching& batching = config_.models["padded"].batching;
  batching.most = 8;
  batching.preferred = {2};
  batching.delay = std::chrono::seconds(1);
  batching.paddings = {{.input = "x", .axis = 1}};
  batching.max_waste = 0.9;
  config_.tenants = {{.name = "short", .keys = {"s"}}, {.name = "long", .keys = {"l"}}};
  serve(std::nullopt);
  std::vector<std::future<server::Outcome>> answers;
  for (const auto& [key, length] : {std::pair("s", 100), std::pair("l", 400)}) {
    const auto promise = std::make_shared<std::promise<server::Outcome>>();
    answers.push_back(promise->get_future());
    service_->workers().post([this, key, length, promise] {
      server::Call call{.caller = std::make_shared<server::Caller>(),
                        .identity = service_->tenants().find(std::string("Bearer ") + key),
                        .arrived = server::Clock::now()};
      call.request.inputs = {{"x", api::Array(api::Dtype::f32, {1, length})}};
      call.done = [promise](server::Outcome outcome) { promise->set_value(std::move(outcome)); };
      service_->infer(service_->models().find("padded", ""), std::move(call));
    });
  }
  for (auto& answer : answers) EXPECT_EQ(answer_of(answer.get()), "answered");
  while_idle([&] {
    const auto rows = service_->models().find("padded", "")->counts().costs()->rows();
    EXPECT_TRUE(rows.contains({"short", CostAccount::request}));
    EXPECT_TRUE(rows.contains({"long", CostAccount::request}));
  });
}

// ---- budgets ----

TEST_F(Costs, ARequestThatMayCostTooMuchIsRefusedWithTheRule) {
  serve(BudgetConfig{.request_cost_ms = 1e-5});
  EXPECT_THAT(answer_of(ask_for("double")), HasSubstr("429 budget per_request.cost_ms: the request may cost"));
  serve(BudgetConfig{.request_memory = 1});
  EXPECT_THAT(answer_of(ask_for("double")), HasSubstr("429 budget per_request.memory: the request may need"));
  serve(BudgetConfig{.request_cost_ms = 100, .request_memory = 1U << 20U, .day_cost_ms = 1000, .memory = 1U << 20U});
  EXPECT_EQ(answer_of(ask_for("double")), "answered");
  EXPECT_GT(service_->costs().budgets().of("")->state().spent, 0);
}

TEST_F(Costs, ATimeOutBoundsWhatHasNoOtherBound) {
  folder_.add("talk", kTalk);
  config_.models["talk"].sequences.states = {{.input = "said", .output = "all", .axis = 0}};
  serve(BudgetConfig{.day_cost_ms = 1000});
  const auto talk = [&](std::optional<std::uint64_t> timeout_us) {
    return answer_of(ask(*service_, {.model = "talk",
                                     .inputs = {{"x", api::Array(api::Dtype::f32, {3})}},
                                     .sequence = {.id = "s", .start = true},
                                     .timeout_us = timeout_us})
                         .get());
  };
  EXPECT_THAT(talk({}), HasSubstr("400 budget: the cost of the request has no bound (model 'talk'"));
  EXPECT_EQ(talk(500'000), "answered");
  EXPECT_THAT(talk(2'000'000), HasSubstr("429 budget per_day.cost_ms")) << "two seconds may cost more than one";
}

TEST_F(Costs, TheNumberOfIterationsBoundsALoop) {
  serve(BudgetConfig{.request_cost_ms = 1});
  const auto count = [&](std::int64_t n) {
    return answer_of(ask(*service_, {.model = "count", .inputs = {{"n", api::Array::scalar(n)}}}).get());
  };
  EXPECT_EQ(count(1), "answered");
  EXPECT_THAT(count(1'000'000'000), HasSubstr("429 budget per_request.cost_ms"));
}

TEST_F(Costs, ADayOfConcurrentRequestsIsNotOverspent) {
  serve(BudgetConfig{.day_cost_ms = 1});
  std::mt19937 random(3);
  std::vector<std::future<server::Outcome>> answers;
  for (int i = 0; i < 400; ++i) {
    auto caller = std::make_shared<server::Caller>();
    if (random() % 5 == 0) caller->leave();
    const char* const model = random() % 2 == 0 ? "long" : random() % 2 == 0 ? "fails" : "router";
    const auto rows = static_cast<std::int64_t>(1 + random() % 50);
    answers.push_back(ask(*service_, {.model = model,
                                      .inputs = {{"x", api::Array(api::Dtype::f32, {rows, 2})}},
                                      .timeout_us = random() % 5 == 0 ? std::optional<std::uint64_t>(1) : std::nullopt,
                                      .caller = std::move(caller)}));
  }
  std::size_t refused = 0;
  for (auto& answer : answers) {
    const auto outcome = answer.get();
    refused += !outcome && outcome.error().status() == Http::too_many ? 1 : 0;
  }
  EXPECT_GT(refused, 0U);
  while_idle([&] {
    const auto state = service_->costs().budgets().of("")->state();
    EXPECT_EQ(state.reserved, 0);
    EXPECT_LE(state.spent, 1'000'000);
    EXPECT_GT(state.spent, 0);
  });
}

// ---- branches ----

TEST_F(Costs, ABranchThatTheBudgetCannotPayIsNotEntered) {
  serve(std::nullopt);
  const double small = worst_ns("double"), large = worst_ns("long");
  ASSERT_GT(large, 3 * small);
  const auto path_with = [&](const std::optional<BudgetConfig>& budget, const char* size) {
    serve(budget);
    return taken_by("router", {{"size", std::string(size)}});
  };
  EXPECT_THAT(path_with(std::nullopt, "large"), testing::ElementsAre(HasSubstr("large: param('size', 'large')")));
  EXPECT_THAT(path_with(BudgetConfig{.request_cost_ms = 1000}, "large"),
              testing::ElementsAre(HasSubstr("large: param")));
  const BudgetConfig tight{.request_cost_ms = (small + large) / 2 / 1e6};
  EXPECT_THAT(path_with(tight, "large"), testing::ElementsAre("small: budget"));
  EXPECT_THAT(path_with(tight, "small"), testing::ElementsAre(HasSubstr("small: param('size', 'large')")));
}

TEST_F(Costs, AnArmThatTheBudgetCannotPayIsReplacedByTheNextThatItCan) {
  folder_.write("split.yaml", R"(
inputs: {x: 'f32[N,2]'}
steps:
  - name: answer
    split:
      arms:
        - {name: largest, share: 1, cheaper: middle, results: {y: b.y}, steps: [{name: a, model: long, inputs: {x: x}}, {name: b, model: long, inputs: {x: a.y}}]}
        - {name: middle, share: 0, model: long, inputs: {x: x}, cheaper: small}
        - {name: small, share: 0, model: double, inputs: {x: x}}
outputs: {y: answer.y}
)");
  serve(std::nullopt);
  const double small = worst_ns("double"), large = worst_ns("long");
  EXPECT_EQ(worst_ns("split"), small) << "the whole path is reserved with its cheapest branches";
  const auto taken_for = [&](double limit_ns) {
    serve(BudgetConfig{.request_cost_ms = limit_ns / 1e6});
    return taken_by("split");
  };
  EXPECT_THAT(taken_for(2.5 * large), testing::ElementsAre(HasSubstr("largest: drew")));
  EXPECT_THAT(taken_for(1.5 * large), testing::ElementsAre("middle: budget"));
  EXPECT_THAT(taken_for((small + large) / 2), testing::ElementsAre("small: budget"));
}

TEST_F(Costs, ABranchThatWouldMissTheDeadlineIsNotEntered) {
  serve(std::nullopt);
  service_->models().find("long", "")->statistics().run_time.add(std::chrono::hours(1));
  EXPECT_THAT(taken_by("router", {}, 60'000'000), testing::ElementsAre("small: deadline"));
  EXPECT_THAT(taken_by("router"), testing::ElementsAre(HasSubstr("large: param")));
}

TEST_F(Costs, AReplayTakesTheRecordedBranchAndCostsTheModel) {
  serve(std::nullopt);
  const double small = worst_ns("double"), large = worst_ns("long");
  config_.paths.inputs = true;
  serve(BudgetConfig{.request_cost_ms = (small + large) / 2 / 1e6});
  EXPECT_THAT(taken_by("router"), testing::ElementsAre("small: budget"));
  const std::int64_t spent = service_->costs().budgets().of("")->state().spent;
  const std::uint64_t number = service_->paths().find({.most = 1}).at(0)->number;
  const auto replayed = [&](std::map<std::string, std::string> choices) {
    std::promise<std::string> taken;
    service_->replay(number, {.choices = std::move(choices)}, {}, std::make_shared<server::Caller>(),
                     [&](const auto&, const server::Outcome& now, const server::PathRecord& path) {
                       taken.set_value((now ? "" : now.error().what()) + path.steps().at(0).taken);
                     });
    return taken.get_future().get();
  };
  EXPECT_EQ(replayed({}), "small");
  EXPECT_EQ(replayed({{"answer", "large"}}), "large") << "a replay is not limited";
  while_idle([&] {
    EXPECT_EQ(service_->costs().budgets().of("")->state().spent, spent);
    EXPECT_TRUE(service_->models().find("router", "")->counts().costs()->rows().contains({"", CostAccount::replay}));
  });
}

TEST_F(Costs, CheaperBlocksMustExistAndEnd) {
  const auto error_of = [&](const std::string& cases) -> std::string {
    folder_.write("wrong.yaml",
                  "inputs: {x: 'f32[N,2]'}\nsteps: [{name: s, switch: [" + cases + "]}]\noutputs: {y: s.y}\n");
    try {
      serve(std::nullopt);
    } catch (const api::Error& error) {
      return error.what();
    }
    return "served";
  };
  const std::string call = "model: double, inputs: {x: x}";
  EXPECT_THAT(error_of("{name: a, cheaper: c, " + call + "}"), HasSubstr("there is no block 'c' beside it"));
  EXPECT_THAT(error_of("{name: a, when: 1 > 0, cheaper: b, " + call + "}, {name: b, cheaper: a, " + call + "}"),
              HasSubstr("its cheaper blocks lead back to it"));
}

// ---- records ----

class RecordedCosts : public Costs {
 protected:
  void open_log() {
    audit_ = std::make_shared<govern::AuditLog>(
        govern::AuditOptions{.folder = log_.path(), .origin = kCostOrigin, .key = key_});
    audit_->append_durable({{"kind", "boot"}, {"build", "test"}});
  }
  std::vector<govern::Json> events_of(const std::string& kind) {
    std::vector<govern::Json> events;
    govern::read_log(log_.path(), {.kinds = {kind}}, [&](std::uint64_t, const std::string& entry) {
      events.push_back(govern::parse_json(entry, "entry"));
    });
    return events;
  }
  govern::SigningKey key_ = govern::SigningKey::generate(govern::KeyKind::ed25519);
};

TEST_F(RecordedCosts, ARestartReadsFromTheLogWhatWasSpentToday) {
  open_log();
  config_.governance.cost.prices = {{"triple", 3}};
  serve(BudgetConfig{.day_cost_ms = 1000});
  for (const char* model : {"double", "triple", "router", "fails", "double"}) (void)ask_for(model);
  service_->record_costs();
  const std::int64_t spent = service_->costs().budgets().of("")->state().spent;
  service_.reset();
  audit_->close();
  const std::int64_t now_ms = govern::now_milliseconds();
  const auto read = server::spent_today(log_.path(), now_ms);
  ASSERT_TRUE(read.contains(""));
  // Each product with a price is rounded.
  EXPECT_NEAR(static_cast<double>(read.at("")), static_cast<double>(spent), 10);
  EXPECT_TRUE(server::spent_today(log_.path(), now_ms + 86'400'000).empty()) << "tomorrow nothing is spent yet";
  EXPECT_TRUE(server::spent_today(folder_.path(), now_ms).empty()) << "a folder without a log";
}

TEST_F(RecordedCosts, ARefusalIsRecordedWithItsRule) {
  open_log();
  serve(BudgetConfig{.request_cost_ms = 1e-5});
  EXPECT_THAT(answer_of(ask_for("double")), HasSubstr("429"));
  service_.reset();
  audit_->close();
  const auto refusals = events_of("refuse");
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_EQ(refusals[0].at("hook"), "run");
  EXPECT_EQ(refusals[0].at("rule"), "budget.per_request.cost_ms");
  EXPECT_EQ(events_of("request").at(0).at("status"), "429");
  EXPECT_EQ(events_of("request").at(0).at("cost").get<std::int64_t>() >= 0, true);
}

TEST_F(RecordedCosts, WorkWithoutARequestIsRecordedAsDifferences) {
  open_log();
  config_.models["double"].warm_up = 1;
  serve(std::nullopt);
  service_->record_costs();
  (void)ask_for("double");
  service_->record_costs();
  service_.reset();
  audit_->close();
  std::vector<std::string> accounts;
  for (const auto& event : events_of("cost")) {
    accounts.push_back(event.at("model").get<std::string>() + " " + event.at("account").get<std::string>());
  }
  EXPECT_EQ(std::ranges::count(accounts, "double warm_up"), 1) << "it has not grown since";
  EXPECT_GE(std::ranges::count(accounts, " server"), 1);
}

TEST_F(Costs, ATenantSeesItsOwnCostsAndBudget) {
  config_.tenants = {{.name = "shop", .keys = {"shop-key"}, .budget = BudgetConfig{.day_cost_ms = 1000}},
                     {.name = "bank", .keys = {"bank-key"}, .budget = BudgetConfig{.request_cost_ms = 1e-5}},
                     {.name = "ops", .keys = {"ops-key"}, .admin = true}};
  serve(std::nullopt);
  const auto send = [&](std::string_view key, std::string_view method, std::string_view path, std::string_view body) {
    const std::string authorization = "Bearer " + std::string(key);
    return reply_to(*service_, {.method = method, .path = path, .body = body, .authorization = authorization});
  };
  constexpr const char* kBody = R"({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}]})";
  EXPECT_EQ(send("shop-key", "POST", "/v2/models/double/infer", kBody).status, Http::ok);
  const server::Reply refused = send("bank-key", "POST", "/v2/models/double/infer", kBody);
  EXPECT_EQ(refused.status, Http::too_many);
  EXPECT_THAT(refused.body, HasSubstr("tenant 'bank': budget per_request.cost_ms"));
  EXPECT_THAT(refused.headers, Not(testing::Contains(testing::Pair("Retry-After", testing::_))));
  const std::string shops = "frazil_cost_ns_total{tenant=\"shop\",model=\"double\",version=\"1\",account=\"request\"}",
                    left = "frazil_budget_left{tenant=\"shop\"}";
  const auto metrics_of = [&](const char* key) { return service_->metrics(service_->tenants().find(key)).body; };
  EXPECT_THAT(metrics_of("Bearer shop-key"), testing::AllOf(HasSubstr(shops), HasSubstr(left)));
  EXPECT_THAT(metrics_of("Bearer bank-key"), testing::AllOf(Not(HasSubstr(shops)), Not(HasSubstr(left))));
  EXPECT_THAT(metrics_of("Bearer ops-key"),
              testing::AllOf(HasSubstr(shops), HasSubstr(left), HasSubstr("account=\"server\""),
                             HasSubstr("frazil_refused_total{rule=\"budget.per_request.cost_ms\"} 1")));
}

}  // namespace
}  // namespace frazil::test
