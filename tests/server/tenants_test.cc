// Keys, and what each tenant may have.
#include "server/tenants.h"

#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/rest.h"

namespace frazil::test {
namespace {

using server::Http;
using server::Refusal;
using server::Tenants;

Http refusal_of(const Tenants& tenants, std::string_view authorization, std::string_view model = "m") {
  try {
    tenants.check(authorization, model);
    tenants.enter(authorization);
    return Http::ok;
  } catch (const Refusal& refusal) {
    return refusal.status();
  }
}

TEST(Tenants, WithoutAnyEverybodyMayAsk) {
  const Tenants none({});
  none.check("");
  EXPECT_EQ(refusal_of(none, "", "m"), Http::ok);
}

TEST(Tenants, AKeyOpensTheModelsOfItsTenant) {
  const Tenants tenants({{.name = "shop", .keys = {"k1", "k2"}, .models = {"m"}}, {.name = "all", .keys = {"k3"}}});
  EXPECT_EQ(refusal_of(tenants, ""), Http::unauthorized);
  EXPECT_EQ(refusal_of(tenants, "Bearer k"), Http::unauthorized);
  EXPECT_EQ(refusal_of(tenants, "k1"), Http::unauthorized);
  EXPECT_EQ(refusal_of(tenants, "Bearer k1"), Http::ok);
  EXPECT_EQ(refusal_of(tenants, "Bearer k2"), Http::ok);
  EXPECT_EQ(refusal_of(tenants, "Bearer k1", "other"), Http::forbidden);
  EXPECT_EQ(refusal_of(tenants, "Bearer k3", "other"), Http::ok);
}

TEST(Tenants, HaveLimitsOfTheirOwn) {
  const Tenants tenants(
      {{.name = "few", .keys = {"a"}, .most_waiting = 1}, {.name = "slow", .keys = {"b"}, .requests_per_second = 2}});
  const auto first = tenants.enter("Bearer a");
  EXPECT_EQ(refusal_of(tenants, "Bearer a"), Http::too_many);
  EXPECT_EQ(refusal_of(tenants, "Bearer b"), Http::ok) << "others are not hindered";
  EXPECT_EQ(refusal_of(tenants, "Bearer b"), Http::ok);
  EXPECT_EQ(refusal_of(tenants, "Bearer b"), Http::too_many);
  EXPECT_EQ(tenants.counts()[0].refused, 1U);
  EXPECT_EQ(tenants.counts()[0].waiting, 1U);
}

TEST(Tenants, HealthAloneIsOpenToStrangers) {
  const Folder folder;
  folder.add("double", kDouble);
  server::ServiceOptions options = options_of(folder);
  options.config.tenants = {{.name = "shop", .keys = {"key"}}};
  server::Service service(options);
  const auto status = [&](std::string_view method, std::string_view path, std::string_view authorization) {
    std::promise<Http> got;
    server::Rest(service).answer({.method = method, .path = path, .authorization = authorization},
                                 std::make_shared<server::Caller>(), server::Clock::now(),
                                 [&](const server::Reply& reply) { got.set_value(reply.status); });
    return got.get_future().get();
  };
  EXPECT_EQ(status("GET", "/v2/health/ready", ""), Http::ok);
  for (const char* path : {"/v2", "/v2/models/double", "/v2/paths", "/v2/models/stats", "/v2/none"}) {
    EXPECT_EQ(status("GET", path, ""), Http::unauthorized) << path;
  }
  for (const char* path : {"/v2/models/double/infer", "/v2/repository/models/double/unload", "/v2/repository/index"}) {
    EXPECT_EQ(status("POST", path, "Bearer wrong"), Http::unauthorized) << path;
  }
  EXPECT_EQ(status("GET", "/v2/models/double", "Bearer key"), Http::ok);
}

}  // namespace
}  // namespace frazil::test
