// Keys, and what each tenant may have.
#include "server/access/tenants.h"

#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/rest_asked.h"
#include "server/web/live.h"

namespace frazil::test {
namespace {

using server::Http;
using server::Refusal;
using server::Tenants;

Http status_for(const Tenants& tenants, std::string_view authorization, std::string_view model = "m") {
  try {
    const Tenants::Identity identity = tenants.find(authorization);
    identity.check(model);
    const auto place = identity.enter();
    return place ? Http::ok : place.error().status();
  } catch (const Refusal& refusal) {
    return refusal.status();
  }
}

TEST(Tenants, WithoutAnyEverybodyMayAsk) {
  const Tenants none({});
  EXPECT_EQ(status_for(none, "", "m"), Http::ok);
  none.find("").check_admin();
  EXPECT_TRUE(none.find("").sees("somebody"));
}

TEST(Tenants, AKeyOpensTheModelsOfItsTenant) {
  const Tenants tenants({{.name = "shop", .keys = {"k1", "k2"}, .models = {"m"}}, {.name = "all", .keys = {"k3"}}});
  EXPECT_EQ(status_for(tenants, ""), Http::unauthorized);
  EXPECT_EQ(status_for(tenants, "Bearer k"), Http::unauthorized);
  EXPECT_EQ(status_for(tenants, "k1"), Http::unauthorized);
  EXPECT_EQ(status_for(tenants, "Bearer k1"), Http::ok);
  EXPECT_EQ(status_for(tenants, "Bearer k2"), Http::ok);
  EXPECT_EQ(status_for(tenants, "Bearer k1", "other"), Http::forbidden);
  EXPECT_EQ(status_for(tenants, "Bearer k3", "other"), Http::ok);
}

TEST(Tenants, KeysMayBeGivenByTheirDigests) {
  const std::string digest = "sha256:" + server::sha256("k1");
  const Tenants tenants({{.name = "shop", .keys = {digest}, .models = {"m"}}});
  EXPECT_EQ(status_for(tenants, "Bearer k1"), Http::ok);
  EXPECT_EQ(status_for(tenants, ("Bearer " + digest).c_str()), Http::unauthorized) << "a digest is not a key";
  EXPECT_THROW(Tenants({{.name = "shop", .keys = {"sha256:k1"}}}), api::Error);
}

TEST(Tenants, AreKnownByCertificatesWhereNoKeyIsGiven) {
  const Tenants tenants({{.name = "both", .keys = {"k"}, .certificates = {"both.example"}},
                         {.name = "service", .certificates = {"spiffe://example/service", "service"}}});
  const auto found = [&](const char* authorization, std::vector<std::string> names) -> std::string {
    try {
      return tenants.find(authorization, names).name();
    } catch (const Refusal& refusal) {
      EXPECT_EQ(refusal.status(), Http::unauthorized);
      return "nobody";
    }
  };
  EXPECT_EQ(found("", {"both.example"}), "both");
  EXPECT_EQ(found("Bearer k", {}), "both");
  EXPECT_EQ(found("", {"other", "spiffe://example/service"}), "service");
  EXPECT_EQ(found("Bearer k", {"service"}), "both") << "a key says more than the connection";
  EXPECT_EQ(found("Bearer x", {"service"}), "nobody");
  EXPECT_EQ(found("Basic eDp4", {"service"}), "nobody");
  EXPECT_EQ(found("", {"other"}), "nobody");
  EXPECT_EQ(found("", {}), "nobody");
}

TEST(Tenants, HaveLimitsOfTheirOwn) {
  const Tenants tenants(
      {{.name = "few", .keys = {"a"}, .max_waiting = 1}, {.name = "slow", .keys = {"b"}, .requests_per_second = 2}});
  const auto first = tenants.find("Bearer a").enter().value();
  EXPECT_EQ(status_for(tenants, "Bearer a"), Http::too_many);
  EXPECT_EQ(status_for(tenants, "Bearer b"), Http::ok) << "others are not hindered";
  EXPECT_EQ(status_for(tenants, "Bearer b"), Http::ok);
  EXPECT_EQ(status_for(tenants, "Bearer b"), Http::too_many);
  EXPECT_EQ(tenants.counts()[0].refused, 1U);
  EXPECT_EQ(tenants.counts()[0].waiting, 1U);
}

TEST(Tenants, WhoHasBegunGoesOnAsHeBegan) {
  Tenants tenants({{.name = "shop", .keys = {"k"}, .max_waiting = 1, .models = {"m"}}});
  const Tenants::Identity before = tenants.find("Bearer k");
  auto place = before.enter().value();
  tenants.replace(
      {{.name = "shop", .keys = {"new"}, .max_waiting = 2, .models = {"other"}}, {.name = "bank", .keys = {"k"}}});
  before.check("m");
  EXPECT_EQ(before.name(), "shop");
  EXPECT_EQ(tenants.find("Bearer k").name(), "bank") << "the key is another tenant's now";
  const Tenants::Identity now = tenants.find("Bearer new");
  EXPECT_FALSE(now.may_use("m"));
  EXPECT_EQ(tenants.counts()[0].waiting, 1U) << "the request that began before counts on";
  const auto second = now.enter().value();
  EXPECT_FALSE(now.enter());
  place.reset();
  EXPECT_EQ(tenants.counts()[0].waiting, 1U);
  EXPECT_EQ(tenants.counts()[0].requests, 2U);
  tenants.replace({});
  EXPECT_EQ(tenants.find("").name(), "") << "without tenants everybody may ask";
}

TEST(Tenants, HealthAloneIsOpenToStrangers) {
  const Folder folder;
  folder.add("double", kDouble);
  server::ServiceOptions options = options_of(folder);
  options.config.tenants = {{.name = "shop", .keys = {"key"}}};
  server::Service service(options);
  const auto status = [&](std::string_view method, std::string_view path, std::string_view authorization) {
    return reply_to(service, {.method = method, .path = path, .authorization = authorization}).status;
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

class TenantViews : public testing::Test {
 protected:
  TenantViews() {
    folder_.add("double", kDouble);
    folder_.add("triple", kTriple);
    server::ServiceOptions options = options_of(folder_);
    options.config.tenants = {{.name = "shop", .keys = {"shop-key"}, .models = {"double"}},
                              {.name = "bank", .keys = {"bank-key"}},
                              {.name = "ops", .keys = {"ops-key"}, .admin = true}};
    options.config.paths.inputs = true;
    service_.emplace(options);
    for (const char* who : {"shop", "bank", "shop"}) infer(who);
  }
  server::Reply send(const std::string& who, std::string_view method, std::string_view path,
                     std::string_view body = "") {
    const std::string authorization = "Bearer " + who + "-key";
    return reply_to(*service_, {.method = method, .path = path, .body = body, .authorization = authorization});
  }
  void infer(const std::string& who) {
    EXPECT_EQ(send(who, "POST", "/v2/models/double/infer",
                   R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]})")
                  .status,
              Http::ok);
  }
  /// The numbers of the paths in a text, in its order.
  static std::string numbers(const std::string& json) {
    std::string found;
    for (std::size_t at = 0; (at = json.find("{\"number\":", at)) != std::string::npos; ++at) found += json[at + 10];
    return found;
  }
  Folder folder_;
  std::optional<server::Service> service_;
};

TEST_F(TenantViews, PathsAreShownToTheirTenantAndToAdministrators) {
  EXPECT_EQ(numbers(send("shop", "GET", "/v2/paths").body), "31");
  EXPECT_EQ(numbers(send("bank", "GET", "/v2/paths").body), "2");
  EXPECT_EQ(numbers(send("ops", "GET", "/v2/paths").body), "321");
  EXPECT_THAT(send("ops", "GET", "/v2/paths/2").body, testing::HasSubstr(R"("tenant":"bank")"));
  EXPECT_EQ(send("shop", "GET", "/v2/paths/1").status, Http::ok);
  EXPECT_EQ(send("shop", "GET", "/v2/paths/2").status, Http::not_found) << "as if it were not kept";
}

TEST_F(TenantViews, ReplaysAreOfOnesOwnRequestsOnOnesOwnModels) {
  EXPECT_THAT(send("shop", "POST", "/v2/paths/1/replay").body, testing::HasSubstr(R"("equal":true)"));
  EXPECT_EQ(send("shop", "POST", "/v2/paths/2/replay").status, Http::not_found);
  EXPECT_EQ(send("shop", "POST", "/v2/paths/1/replay", R"({"model":"triple"})").status, Http::forbidden);
  EXPECT_EQ(send("bank", "POST", "/v2/paths/2/replay", R"({"model":"triple"})").status, Http::ok);
  EXPECT_EQ(send("ops", "POST", "/v2/paths/2/replay").status, Http::ok);
}

TEST_F(TenantViews, TheLiveViewShowsTheSame) {
  server::LiveView view(*service_);
  const auto of = [&](const char* key) { return view.snapshot(0, service_->tenants().find(key)); };
  const std::string shop = of("Bearer shop-key"), bank = of("Bearer bank-key"), ops = of("Bearer ops-key");
  EXPECT_EQ(numbers(shop), "31");
  EXPECT_EQ(numbers(bank), "2");
  EXPECT_EQ(numbers(ops), "321");
  EXPECT_THAT(bank, testing::HasSubstr(R"("name":"triple")"));
  EXPECT_THAT(shop, testing::Not(testing::HasSubstr(R"("name":"triple")"))) << "a model that he may not use";
}

}  // namespace
}  // namespace frazil::test
