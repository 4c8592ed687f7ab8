// Mixes of requests, and forecasts for them.
#include "server/forecast.h"

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

TEST(Forecast, GrowsWithTheRateAndFitsWhatHappens) {
  const Folder folder;
  folder.add("count", kCount);
  folder.add("double", kDouble);
  server::Service service(options_of(folder));
  const auto mix = server::read_mix(mix_file(folder, "requests: [{model: double, inputs: {x: 1..200000x2}}]"));
  const server::MixProfile profile(service, mix, 0.5);
  const double most = profile.most_rate();
  const server::Forecast low = profile.at(most * 0.2), high = profile.at(most * 0.9);
  EXPECT_LT(low.p99_ms, high.p99_ms);
  EXPECT_NEAR(low.busy, 0.2, 0.02);
  EXPECT_NEAR(high.busy, 0.9, 0.05);
  const server::Forecast measured = server::drive(service, mix, most * 0.2, 0.3);
  EXPECT_GT(measured.p50_ms, 0);
  EXPECT_THROW(server::MixProfile(service, {{.model = "none"}}, 0.1), server::Refusal);
  EXPECT_THROW(server::MixProfile(service, {{.model = "double"}}, 0.1), server::Refusal) << "it lacks its input";
}

}  // namespace
}  // namespace frazil::test
