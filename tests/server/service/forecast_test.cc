// Mixes of requests, and forecasts for them.
#include "server/service/forecast.h"

#include <cmath>

#include <gmock/gmock.h>

#include "server/asked.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;

std::string mix_file(const Folder& folder, const std::string& text) {
  folder.write("mix/mix.yaml", text);
  return folder.path() + "mix/mix.yaml";
}

TEST(Mix, HasModelsSharesAndShapes) {
  const Folder folder;
  const auto mix = server::read_mix(mix_file(
      folder, "requests:\n  - {model: a, share: 0.7, inputs: {x: 1x5..128}}\n  - {model: b, inputs: {n: scalar}}\n"));
  ASSERT_EQ(mix.size(), 2U);
  EXPECT_EQ(mix[0].model, "a");
  EXPECT_EQ(mix[0].inputs[0].extents, (std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {5, 128}}));
  EXPECT_TRUE(mix[1].inputs[0].extents.empty());
}

TEST(Mix, ErrorsNameThePlace) {
  const Folder folder;
  const struct {
    const char *text, *why;
  } cases[] = {{"requests: []", "shares are more than 0"},
               {"requests:\n  - {share: 1}", "expected the key 'model'"},
               {"requests:\n  - {model: a, inputs: {x: 1xb}}", "expected a shape such as 1x5..128"},
               {"requests:\n  - {model: a, inputs: {x: 9..3}}", "expected a shape such as 1x5..128"},
               {"requests:\n  - {model: a, color: red}", "color"}};
  for (const auto& c : cases) {
    try {
      server::read_mix(mix_file(folder, c.text));
      ADD_FAILURE() << c.text;
    } catch (const api::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(c.why));
      EXPECT_THAT(error.what(), HasSubstr("mix.yaml"));
    }
  }
}

/// The share of requests that wait no longer than `t` service times in a queue with one server, random arrivals and
/// equal service times (M/D/1; Erlang 1909).
double share_within(double t, double load) {
  double sum = 0, factorial = 1;
  for (int k = 0; k <= static_cast<int>(t); ++k) {
    if (k > 0) factorial *= k;
    const double x = load * (k - t);
    sum += std::pow(x, k) / factorial * std::exp(-x);
  }
  return (1 - load) * sum;
}

TEST(Forecast, IsThatOfAQueueWithOneServer) {
  const std::vector<server::MixRequest> mix{{.model = "m"}};
  constexpr double kService = 0.002;
  const server::MixProfile profile(mix, 1, {{.alone = {kService, kService}, .together = {kService, kService}}});
  EXPECT_NEAR(profile.max_rate(), 1 / kService, 1e-6);
  for (const double load : {0.2, 0.6, 0.8}) {
    double p99 = 0;
    while (share_within(p99, load) < 0.99) p99 += 0.001;
    const server::Forecast forecast = profile.at(load / kService);
    EXPECT_NEAR(forecast.busy, load, 0.01);
    EXPECT_NEAR(forecast.p99_ms, (1 + p99) * kService * 1e3, 0.08 * (1 + p99) * kService * 1e3) << load;
    if (load < 0.5) EXPECT_NEAR(forecast.p50_ms, kService * 1e3, 1e-9) << "most do not wait";
  }
}

TEST(Forecast, TakesTheTimesOfLengthsAndOfLoad) {
  const std::vector<server::MixRequest> mix{{.model = "a", .share = 3}, {.model = "b", .share = 1}};
  const server::MixProfile profile(mix, 2,
                                   {{.alone = {0.001, 0.002, 0.005}, .together = {0.002, 0.004, 0.010}},
                                    {.alone = {0.1, 0.1}, .together = {0.2, 0.2}}});
  // Of the first, lengths take 2 to 4 and 4 to 10 ms, each half of them: 5 ms.
  EXPECT_NEAR(profile.max_rate(), 2 / (0.75 * 0.005 + 0.25 * 0.2), 0.8);
  const server::Forecast idle = profile.at(0.001);
  EXPECT_NEAR(idle.p50_ms, 3, 0.1) << "of the first at two thirds of the lengths, a third of the way from 2 to 5";
  EXPECT_NEAR(idle.p99_ms, 100, 1e-3);
}

TEST(Forecast, AWorkerThatHasPausedTakesTheTimeAlone) {
  const server::MixProfile profile({{.model = "m"}}, 1, {{.alone = {0.005, 0.005}, .together = {0.002, 0.002}}});
  EXPECT_NEAR(profile.at(0.001).p50_ms, 5, 1e-3);
  EXPECT_NEAR(profile.at(2000).busy, 4, 0.1) << "four times the time together";
  EXPECT_NEAR(profile.max_rate(), 500, 1e-6);
}

TEST(Forecast, MeasuresWhatAServerDoes) {
  const Folder folder;
  folder.add("count", kCount);
  folder.add("double", kDouble);
  server::Service service(options_of(folder));
  const auto mix = server::read_mix(mix_file(folder, "requests: [{model: double, inputs: {x: 1..200000x2}}]"));
  const server::MixProfile profile(service, mix, 0.1);
  EXPECT_GT(profile.max_rate(), 0);
  const auto& statistics = service.models().find("double", "")->statistics();
  const std::uint64_t before = statistics.success.count();
  const server::LoadResult result = server::run_load(service, mix, 200, 0.3, 2),
                           again = server::run_load(service, mix, 200, 0.3, 2);
  const std::uint64_t each = (statistics.success.count() - before) / 2;
  EXPECT_NEAR(static_cast<double>(each), 60, 30) << "of 200 per second in 0.3 s";
  EXPECT_LE(result.rate, static_cast<double>(each) / 0.3 + 1e-6);
  EXPECT_EQ(result.failed + again.failed, 0U);
  EXPECT_GT(result.p50_ms, 0);
  EXPECT_LE(result.p50_ms, result.p99_ms);
  EXPECT_GT(result.busy, 0);
  EXPECT_THROW(server::MixProfile(service, {{.model = "none"}}, 0.1), server::Refusal);
  EXPECT_THROW(server::MixProfile(service, {{.model = "double"}}, 0.1), server::Refusal) << "it lacks its input";
  const server::LoadResult refused = server::run_load(service, {{.model = "double"}}, 200, 0.05);
  EXPECT_GT(refused.failed, 0U);
  EXPECT_THAT(refused.why, HasSubstr("input 'x'"));
}

}  // namespace
}  // namespace frazil::test
