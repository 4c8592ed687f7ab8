// Guards of splits: when an arm is rolled back, when it is not, and what that looks like.
#include "server/pipeline/rollback.h"

#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "server/asked.h"
#include "server/request/path_record.h"
#include "server/rest_asked.h"
#include "server/web/live.h"

namespace frazil::test {
namespace {

using std::literals::operator""h;
using std::literals::operator""ms;
using std::literals::operator""s;
using std::literals::operator""us;
using nlohmann::json;
using server::Http;
using server::Rollback;
using server::RollbackRules;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Chance, ExplainsWhatIsNotTooMuch) {
  const struct {
    std::uint64_t events, n;
    double p;
    bool beyond;
  } cases[] = {{3, 10, 0.02, false},    // 9e-4
               {5, 10, 0.02, true},     // 7e-7
               {20, 200, 0.05, false},  // 2.7e-3
               {27, 200, 0.05, true},   // 3e-6
               {0, 1000, 0, false},
               {1, 1000, 0, true},
               {10, 10, 1, false},
               {5100, 10000, 0.5, false},
               {5300, 10000, 0.5, true},
               {1'000'300, 2'000'000, 0.5, false},
               {1'005'000, 2'000'000, 0.5, true}};
  for (const auto& c : cases) {
    EXPECT_EQ(server::is_beyond_chance(c.events, c.n, c.p), c.beyond) << c.events << " of " << c.n << " at " << c.p;
  }
}

/// A rollback with a clock of its own.
class Guards : public testing::Test {
 protected:
  void watch(const RollbackRules& rules) {
    rollback_ = std::make_unique<Rollback>(
        rules, "p", "arm: ", [this](const server::Notice& notice) { told_.push_back(notice.text); });
  }
  /// So many requests in `seconds`, of which a share fails, of both sides; an arm gets a tenth of the traffic.
  struct Traffic {
    double per_second = 10;
    double errors = 0, baseline_errors = 0;
    double slower = 1;  ///< the arm's times are so many times the baseline's
  };
  /// Whether the arm was rolled back, after how many of its requests.
  std::optional<int> rolled_back_in(double seconds, const Traffic& traffic) {
    std::lognormal_distribution<double> milliseconds(std::log(10), 0.5);  // p99: 32 ms
    const auto requests = static_cast<int>(seconds * traffic.per_second);
    for (int i = 1; i <= requests; ++i) {
      now_ += std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 / traffic.per_second));
      for (int k = 0; k < 9; ++k) send(Rollback::Side::baseline, traffic.baseline_errors, milliseconds(random_));
      send(Rollback::Side::arm, traffic.errors, traffic.slower * milliseconds(random_));
      if (rollback_->rolled_back()) return i;
    }
    return std::nullopt;
  }
  void send(Rollback::Side side, double errors, double milliseconds) {
    const auto time = std::chrono::nanoseconds(static_cast<std::int64_t>(milliseconds * 1e6));
    rollback_->count(side, now_, time, std::uniform_real_distribution<double>()(random_) < errors);
  }

  std::unique_ptr<Rollback> rollback_;
  std::vector<std::string> told_;
  Rollback::Time now_{1h};
  std::mt19937_64 random_{7};  // NOLINT: tests draw the same numbers each time
};

TEST_F(Guards, RollBackWhatIsWorseThanItMayBe) {
  const RollbackRules errors{.errors = 0.02}, times{.limits = {{.quantile = "p99", .share = 0.99, .most = 40ms}}},
      beside{.worse = 1.2};
  const struct {
    const RollbackRules& rules;
    Traffic traffic;
    int at_most;  ///< requests of the arm; 200 are the least
    const char* why;
  } cases[] = {{errors, {.errors = 1}, 200, "200 of 200 requests failed, a share of 0.02 may"},
               {errors, {.errors = 0.1}, 400, " requests failed, a share of 0.02 may"},
               {errors, {.errors = 0.05}, 2000, " requests failed, a share of 0.02 may"},
               {times, {.slower = 3}, 400, " requests took longer than 40 ms, the limit of p99"},
               {times, {.slower = 1.6}, 2000, "the limit of p99"},
               {beside, {.errors = 0.1, .baseline_errors = 0.02}, 800, "more than 1.2 times as often"},
               {beside, {.errors = 0.05}, 400, "more than 1.2 times as often"},
               {beside, {.slower = 3}, 400, ", 1.2 times the baseline's p99"},
               {beside, {.slower = 1.8}, 2000, ", 1.2 times the baseline's p99"}};
  for (const auto& c : cases) {
    watch(c.rules);
    told_.clear();
    const auto after = rolled_back_in(600, c.traffic);
    ASSERT_TRUE(after) << c.why;
    EXPECT_GE(*after, 200) << c.why;
    EXPECT_LE(*after, c.at_most) << c.why;
    EXPECT_THAT(told_, ElementsAre(AllOf(HasSubstr("arm: "), HasSubstr(c.why))));
    EXPECT_THAT(rollback_->seen(now_).reason, HasSubstr(c.why));
    EXPECT_EQ(rollback_->rollbacks(), 1U);
  }
}

TEST_F(Guards, LeaveAloneWhatIsNot) {
  const struct {
    RollbackRules rules;
    Traffic traffic;
  } cases[] = {{{.errors = 0.02}, {.errors = 0.01}},
               {{.errors = 0.02}, {.errors = 0.015}},
               {{.errors = 0.001, .least = 20}, {.errors = 0.0005}},
               {{.limits = {{.quantile = "p99", .share = 0.99, .most = 40ms}}}, {.slower = 1.1}},
               {{.limits = {{.quantile = "p50", .share = 0.5, .most = 10500us}}}, {}},
               {{.worse = 1.2}, {.errors = 0.02, .baseline_errors = 0.02}},
               {{.worse = 1.2, .least = 10}, {.slower = 1.1}},
               {{.worse = 1}, {.errors = 0.3, .baseline_errors = 0.3}}};
  for (const auto& c : cases) {
    watch(c.rules);
    EXPECT_FALSE(rolled_back_in(2 * 3600, c.traffic)) << c.rules.text() << ": " << told_.back();
  }
}

TEST_F(Guards, DecideNothingFromAFewRequestsOrFromLongAgo) {
  watch({.errors = 0.02, .least = 10});
  for (const bool failed : {true, false, true, false, false, true, false, false, false, false}) {
    rollback_->count(Rollback::Side::arm, now_, 1ms, failed);
  }
  EXPECT_FALSE(rollback_->rolled_back()) << "3 of 10";
  watch({.errors = 0.02});
  for (int i = 0; i < 199; ++i) rollback_->count(Rollback::Side::arm, now_, 1ms, true);
  EXPECT_FALSE(rollback_->rolled_back()) << "fewer than the least";
  now_ += 61s;
  EXPECT_FALSE(rolled_back_in(600, {}));
  EXPECT_EQ(rollback_->seen(now_).arm.failed, 0U);
  EXPECT_NEAR(static_cast<double>(rollback_->seen(now_).arm.requests), 600, 60) << "a minute's, to a tenth";
}

TEST_F(Guards, GoOnFromNothingWhenTheyAreReset) {
  watch({.errors = 0.02});
  EXPECT_TRUE(rolled_back_in(60, {.errors = 1}));
  EXPECT_NE(rollback_->seen(now_).since_ms, 0);
  rollback_->count(Rollback::Side::arm, now_, 1ms, true);
  EXPECT_EQ(rollback_->seen(now_).arm.requests, 200U) << "what ends later does not count";
  rollback_->reset();
  EXPECT_FALSE(rollback_->rolled_back());
  EXPECT_EQ(rollback_->seen(now_).reason, "");
  EXPECT_FALSE(rolled_back_in(60, {}));
  EXPECT_TRUE(rolled_back_in(60, {.errors = 1}));
  EXPECT_EQ(rollback_->rollbacks(), 2U);
}

// ---- in a pipeline ----

class GuardedSplits : public testing::Test {
 protected:
  GuardedSplits() {
    folder_.add("old", kDouble);
    folder_.add("fresh", kFails);
    folder_.add("other", kDouble);
    write("{new: {errors: 0.02, least: 50, window_s: 3600}}");
  }
  void write(const std::string& guard, const std::string& more = "") const {
    folder_.write("p.yaml",
                  "inputs: {x: 'f32[N,2]'}\nsteps:\n  - {name: first, model: other, inputs: {x: x}}\n"
                  "  - name: out\n    split:\n      by: param('user', '')\n      arms:\n"
                  "        - {name: old, share: 0.5, model: old, inputs: {x: first.y}}\n"
                  "        - {name: new, share: 0.5, model: fresh, inputs: {x: first.y}}\n      guard: " +
                      guard + "\n" + more + "outputs: {y: out.y}\n");
  }
  void serve() {
    server::ServiceOptions options = options_of(folder_);
    options.notify = [this](const server::Notice& notice) {
      if (notice.level == server::Notice::Level::warning) told_.push_back(notice.subject + ": " + notice.text);
    };
    service_.emplace(options);
  }
  std::string send(std::string_view method, std::string_view path, std::string_view body = "") {
    return reply_to(*service_, {.method = method, .path = path, .body = body}).body;
  }
  /// The arm that the user's request took, and why.
  std::string run(int user) {
    const auto path = std::make_shared<server::PathRecord>(server::Clock::now());
    ask(*service_,
        {.model = "p", .inputs = {{"x", row({1, 2})}}, .parameters = {{"user", std::to_string(user)}}, .path = path})
        .get();
    for (const auto& step : path->steps()) {
      if (step.node == "out") return step.taken + ": " + step.why;
    }
    return "";
  }
  /// Requests of 200 users, until the arm is rolled back.
  void break_new() {
    for (int user = 0; user < 200; ++user) run(user);
    ASSERT_EQ(splits().at(0).at("rolled_back"), true);
  }
  json splits() { return json::parse(send("GET", "/v2/models/p/splits")); }
  bool rolled_back() { return splits().at(0).at("rolled_back"); }

  Folder folder_;
  std::vector<std::string> told_;
  std::optional<server::Service> service_;
};

TEST_F(GuardedSplits, GiveTheWeightOfABadArmToTheBaseline) {
  serve();
  int of_new = -1;
  for (int user = 0; of_new < 0; ++user) of_new = run(user).starts_with("new") ? user : -1;
  break_new();
  EXPECT_THAT(told_, ElementsAre("pipeline 'p': split 'out': arm 'new' is rolled back to 'old': 50 of 50 requests "
                                 "failed, a share of 0.02 may"));
  EXPECT_THAT(run(of_new),
              testing::MatchesRegex("old: '" + std::to_string(of_new) + "' gives 0\\.[0-9]+; 'new' is rolled back"));
  const std::string metrics = service_->metrics().body;
  EXPECT_THAT(metrics, HasSubstr(R"(frazil_rollbacks_total{model="p",version="1",split="out",arm="new"} 1)"));
  EXPECT_THAT(metrics, HasSubstr(R"(frazil_rolled_back{model="p",version="1",split="out",arm="new"} 1)"));
  EXPECT_THAT(server::LiveView(*service_).snapshot(0),
              HasSubstr(R"("name":"new","rule":"share 0.5","rolled_back":"50 of 50 requests failed)"));
  const auto fresh = service_->models().find("fresh", "")->statistics().fail.count();
  for (int user = 0; user < 20; ++user) EXPECT_THAT(run(user), HasSubstr("old"));
  EXPECT_EQ(service_->models().find("fresh", "")->statistics().fail.count(), fresh);
}

TEST_F(GuardedSplits, AreReadAndReset) {
  serve();
  EXPECT_EQ(splits(), json::parse(R"([{"split":"out","arm":"new","rule":"share 0.5","rolled_back":false,"rollbacks":0,
                                       "recent":{"requests":0,"failed":0},"baseline":{"requests":0,"failed":0}}])"));
  break_new();
  const json seen = splits().at(0);
  EXPECT_THAT(seen.at("reason").get<std::string>(), HasSubstr("50 of 50 requests failed"));
  EXPECT_GT(seen.at("since_ms"), 0);
  EXPECT_EQ(seen.at("rollbacks"), 1);
  EXPECT_EQ(seen.at("recent").at("requests"), 50);
  EXPECT_EQ(seen.at("recent").at("failed"), 50);
  EXPECT_GT(seen.at("baseline").at("requests"), 50);
  EXPECT_GT(seen.at("baseline").at("p99_us"), 0);
  EXPECT_THAT(send("POST", "/v2/repository/models/p/reset", R"({"arm":"old"})"), HasSubstr("has no arm 'old'"));
  EXPECT_THAT(send("POST", "/v2/repository/models/p/reset", R"({"split":"in","arm":"new"})"),
              HasSubstr("has no arm of split 'in' 'new' with a guard"));
  EXPECT_THAT(send("POST", "/v2/repository/models/p/reset", R"({"arms":"new"})"), HasSubstr("expected split or arm"));
  EXPECT_THAT(send("POST", "/v2/repository/models/old/reset"), HasSubstr("is not a pipeline"));
  EXPECT_THAT(send("GET", "/v2/models/old/splits"), HasSubstr("is not a pipeline"));
  EXPECT_TRUE(rolled_back());
  EXPECT_EQ(send("POST", "/v2/repository/models/p/reset", R"({"split":"out"})"), "{}");
  EXPECT_FALSE(rolled_back());
  break_new();
  EXPECT_EQ(send("POST", "/v2/repository/models/p/reset"), "{}");
  EXPECT_FALSE(rolled_back());
  EXPECT_EQ(told_.size(), 2U);
}

TEST_F(GuardedSplits, RememberAnArmUntilItIsAnotherOne) {
  serve();
  break_new();
  folder_.add("other", kTriple);
  service_->models().load("other");
  EXPECT_TRUE(rolled_back()) << "the pipeline is another one, the arm is not";
  EXPECT_EQ(splits().at(0).at("baseline").at("requests"), 150);
  write("{new: {errors: 0.02, least: 50, window_s: 3600}}", "  - {name: last, model: other, inputs: {x: out.y}}\n");
  service_->models().load("p");
  EXPECT_TRUE(rolled_back()) << "another part of the pipeline has changed";
  folder_.add("old", kTriple);
  service_->models().load("old");
  EXPECT_TRUE(rolled_back());
  EXPECT_EQ(splits().at(0).at("baseline").at("requests"), 0) << "another baseline";
  folder_.add("fresh", kTriple);
  service_->models().load("fresh");
  EXPECT_FALSE(rolled_back()) << "the arm has another model";
  folder_.add("fresh", kFails);
  service_->models().load("fresh");
  break_new();
  write("{new: {errors: 0.05, least: 50, window_s: 3600}}");
  service_->models().load("p");
  EXPECT_FALSE(rolled_back()) << "other rules";
}

TEST_F(GuardedSplits, LetReplaysTakeAnArmAndDoNotCountThem) {
  serve();
  break_new();
  const auto path = std::make_shared<server::PathRecord>(server::Clock::now());
  const auto outcome =
      ask(*service_, {.model = "p", .inputs = {{"x", row({1, 2})}}, .path = path, .choices = {{"out", "new"}}}).get();
  EXPECT_FALSE(outcome);
  EXPECT_EQ(path->steps().at(1).taken, "new");
  send("POST", "/v2/repository/models/p/reset");
  ask(*service_, {.model = "p", .inputs = {{"x", row({1, 2})}}, .choices = {{"out", "new"}}}).get();
  EXPECT_EQ(splits().at(0).at("recent").at("requests"), 0);
}

TEST_F(GuardedSplits, DoNotBlameArmsForRequestsThatTheBaselineRefuses) {
  folder_.add("old", kFails);
  serve();
  for (int user = 0; user < 200; ++user) EXPECT_NE(run(user), "");
  EXPECT_EQ(splits().at(0).at("recent").at("requests"), 0);
  EXPECT_EQ(splits().at(0).at("baseline").at("requests"), 0);
  EXPECT_FALSE(rolled_back());
}

TEST_F(GuardedSplits, DoNotBlameArmsForCallersThatLeave) {
  folder_.add("fresh",
              "graph g(%x: f32[N,2]) { %z = Loop(i64[] 200000000, _, f32[] 0) body(%i, %on, %v) {"
              "%b = Add(%v, f32[] 1) %c = Cos(%b) yield %on, %c } %y = Add(%x, %z) return y = %y }");
  write("{new: {errors: 0, least: 1}}");
  serve();
  const auto& statistics = service_->models().find("fresh", "")->statistics();
  for (int user = 0; statistics.cancelled < 3; ++user) {
    const auto caller = std::make_shared<server::Caller>();
    Asking asking{.model = "p", .inputs = {{"x", row({1, 2})}}, .parameters = {{"user", std::to_string(user)}}};
    asking.caller = caller;
    auto outcome = ask(*service_, asking);
    while (outcome.wait_for(1ms) != std::future_status::ready && statistics.pending == 0) continue;
    caller->leave();
    outcome.get();
  }
  EXPECT_EQ(splits().at(0).at("recent").at("requests"), 0);
  EXPECT_FALSE(rolled_back());
}

struct BadGuard {
  const char *guard, *why;
};
class BadGuards : public GuardedSplits, public testing::WithParamInterface<BadGuard> {};

TEST_P(BadGuards, AreRefusedWithThePlace) {
  write(GetParam().guard);
  try {
    serve();
    FAIL() << "no error";
  } catch (const api::Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("p.yaml:"), HasSubstr(GetParam().why)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadGuards,
    testing::Values(BadGuard{"{}", "expected rules for at least one arm"},
                    BadGuard{"{newer: {errors: 0.1}}", "the split has no arm 'newer'"},
                    BadGuard{"{old: {errors: 0.1}}", "it is the baseline"},
                    BadGuard{"{new: {}}", "expected at least one of errors, p50_ms, p90_ms, p99_ms and"},
                    BadGuard{"{new: {least: 3}}", "expected at least one of errors"},
                    BadGuard{"{new: {errors: 2}}", "expected a number from 0 to 1, got '2'"},
                    BadGuard{"{new: {p99_ms: 50ms}}", "expected a number"},
                    BadGuard{"{new: {p95_ms: 50}}", "this key is unknown"},
                    BadGuard{"{new: {worse_than_baseline: 0.5}}", "expected a number from 1"},
                    BadGuard{"{new: {errors: 0.1, window_s: 0}}", "guard.new.window_s"},
                    BadGuard{"{new: {errors: 0.1}}\n      baseline: none", "the split has no arm 'none'"},
                    BadGuard{"{new: {errors: 0.1}}\n      baseline: new", "it is the baseline"}));

}  // namespace
}  // namespace frazil::test
