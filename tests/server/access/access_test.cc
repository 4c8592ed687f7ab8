// Who may ask for what: every route and every method, by callers with and without a key, and from pages of browsers.
#include <cstring>
#include <map>
#include <optional>

#include <gmock/gmock.h>

#include "server/config/config_yaml.h"
#include "server/grpc/grpc.h"
#include "server/grpc_client.h"
#include "server/grpc_encode.h"
#include "server/http_test_client.h"
#include "server/rest_asked.h"
#include "server/running.h"

namespace frazil::test {
namespace {

using server::Access;
using server::Browser;
using server::Feature;
using server::Gate;
using server::Http;
using server::NetworkConfig;
using server::PortKind;
using server::Rest;
using server::Rule;
using server::Tenant;
using server::Tenants;
using testing::HasSubstr;
using testing::Not;

const std::vector<Tenant> kTenants{{.name = "shop", .keys = {"shop-key"}, .models = {"double"}},
                                   {.name = "bank", .keys = {"bank-key"}, .models = {"triple"}},
                                   {.name = "ops", .keys = {"ops-key"}, .admin = true}};

/// Callers: without a key, a tenant with the right to the model, one without it, and an administrator.
constexpr const char* kCallers[] = {"", "shop", "bank", "ops"};

// ---- every route ----

class Routes : public testing::Test {
 protected:
  Routes() {
    folder_.add("double", kDouble);
    folder_.add("triple", kTriple);
  }
  server::ServiceOptions options() const {
    server::ServiceOptions made = options_of(folder_);
    made.config.tenants = kTenants;
    made.config.paths.inputs = true;
    return made;
  }
  Folder folder_;
};

/// The status of each caller's request. A request that changes something changes what is there already.
const std::map<std::string, std::string> kRouteAnswers = {
    {"POST /v2/models/{model}/infer", "401 200 403 200"},
    {"POST /v2/models/{model}/generate", "401 200 403 200"},
    {"POST /v2/models/{model}/generate_stream", "401 200 403 200"},
    {"GET /v2/health/live", "200 200 200 200"},
    {"GET /v2/health/ready", "200 200 200 200"},
    {"GET /v2", "401 200 200 200"},
    {"GET /v2/", "401 200 200 200"},
    {"GET /v2/models/stats", "401 200 200 200"},
    {"GET /v2/models/{model}", "401 200 403 200"},
    {"GET /v2/models/{model}/ready", "401 200 403 200"},
    {"GET /v2/models/{model}/config", "401 200 403 200"},
    {"GET /v2/models/{model}/stats", "401 200 403 200"},
    {"GET /v2/models/{model}/splits", "401 400 403 400"},  // it is not a pipeline
    {"GET /v2/models/{model}/graph", "401 403 403 400"},   // the same
    {"POST /v2/repository/index", "401 200 200 200"},
    {"POST /v2/repository/models/{model}/load", "401 403 403 200"},
    {"POST /v2/repository/models/{model}/unload", "401 403 403 200"},
    {"POST /v2/repository/models/{model}/reset", "401 403 403 400"},
    {"POST /v2/repository/config/load", "401 403 403 400"},  // there is no file
    {"POST /v2/governance/erase", "401 403 403 400"},        // without a body
    {"POST /v2/repository/policy/load", "401 403 403 400"},  // there is no policy
    {"GET /v2/logging", "401 200 200 200"},
    {"POST /v2/logging", "401 403 403 400"},  // without a body
    {"GET /v2/trace/setting", "401 200 200 200"},
    {"POST /v2/trace/setting", "401 403 403 400"},
    {"GET /v2/models/{model}/trace/setting", "401 200 403 200"},
    {"POST /v2/models/{model}/trace/setting", "401 403 403 400"},
    {"GET /v2/systemsharedmemory/status", "401 200 200 200"},
    {"GET /v2/systemsharedmemory/region/{item}/status", "401 404 404 404"},
    {"POST /v2/systemsharedmemory/region/{item}/register", "401 400 400 400"},
    {"POST /v2/systemsharedmemory/region/{item}/unregister", "401 200 200 200"},
    {"POST /v2/systemsharedmemory/unregister", "401 200 200 200"},
    {"GET /v2/paths", "401 200 200 200"},
    {"GET /v2/paths/{item}", "401 200 404 200"},
    {"POST /v2/paths/{item}/replay", "401 200 404 200"},
    {"GET /v2/live/events", "401 200 200 200"},
    {"GET /v2/live", "200 200 200 200"},
    {"GET /v2/live/{item}", "404 404 404 404"},  // files of the page have other names
    {"GET /metrics", "200 200 200 200"},
};

/// The target of a route for the model 'double' and the first path.
std::string target_of(std::string_view pattern) {
  std::string target(pattern);
  for (const auto& [name, value] : {std::pair("{model}", "double"), {"{item}", "1"}}) {
    if (const std::size_t at = target.find(name); at != std::string::npos) target.replace(at, std::strlen(name), value);
  }
  return target;
}

/// Over a socket, as the transport may leave something out.
TEST_F(Routes, AreForThoseThatTheirRulesName) {
  std::size_t walked = 0;
  for (const Rest::Route& route : Rest::routes()) {
    RunningServer server(options());
    const std::string name = std::string(route.method) + " " + std::string(route.path), target = target_of(route.path);
    ASSERT_TRUE(kRouteAnswers.contains(name)) << name << " is new: say here who may send it";
    std::string answers;
    for (const std::string caller : kCallers) {
      const std::string key = caller.empty() ? "" : "Authorization: Bearer " + caller + "-key\r\n";
      HttpClient first(server.ports.http),
          client(route.port_kind == PortKind::models ? server.ports.http : server.ports.metrics);
      first.post("/v2/models/double/infer", kOne, "Authorization: Bearer shop-key\r\n");
      EXPECT_EQ(first.receive().status, 200U);
      const bool runs = target.ends_with("infer"), generates = target.find("generate") != std::string::npos;
      const std::string body = runs ? std::string(kOne) : generates ? R"({"x":[1,2]})" : "";
      route.method == "GET" ? client.get(target, key) : client.post(target, body, key);
      const std::string line = client.text_up_to("\r\n");
      answers += (answers.empty() ? "" : " ") + line.substr(9, 3);
      if (route.path.ends_with("/unload")) server.service.models().load("double");
    }
    EXPECT_EQ(answers, kRouteAnswers.at(name)) << name;
    ++walked;
  }
  EXPECT_EQ(walked, Rest::routes().size());
}

/// Where there are no tenants nobody needs a key.
TEST_F(Routes, AreForEverybodyWhereThereAreNoTenants) {
  server::ServiceOptions open = options();
  open.config.tenants.clear();
  server::Service service(open);
  for (const Rest::Route& route : Rest::routes()) {
    if (route.port_kind != PortKind::models || route.handler.streams_events()) continue;
    const std::string target = target_of(route.path);
    const auto admitted = Rest(service).admit({.method = route.method, .path = target, .host = "localhost"});
    EXPECT_TRUE(admitted) << target << ": " << (admitted ? "" : admitted.error().body);
  }
}

/// The path in other spellings must not find a way around a rule.
TEST_F(Routes, OtherSpellingsOfAPathHaveTheSameRule) {
  server::Service service(options());
  const auto status = [&](std::string_view method, std::string_view path, std::string_view key) {
    const std::string authorization = "Bearer " + std::string(key);
    return reply_to(service, {.method = method, .path = path, .authorization = authorization}).status;
  };
  EXPECT_EQ(status("GET", "/v2/models/d%6fuble", "shop-key"), Http::ok);
  EXPECT_EQ(status("GET", "/v2/models/tr%69ple", "shop-key"), Http::forbidden);
  EXPECT_EQ(status("GET", "/v2/models/none", "shop-key"), Http::forbidden) << "as if it were there";
  EXPECT_EQ(status("GET", "/v2/models/none", "ops-key"), Http::not_found);
  for (const char* path :
       {"/v2/models/triple/", "//v2/models/triple", "/v2/models//triple", "/v2/paths/1/", "/V2/models",
        "/v2/models/triple/versions/1/", "/v2/models/../models/triple", "/v2/repository/models/triple"}) {
    EXPECT_EQ(status("GET", path, "shop-key"), Http::not_found) << path;
    EXPECT_EQ(status("GET", path, "wrong"), Http::unauthorized) << path;
  }
  EXPECT_EQ(status("PUT", "/v2/models/double/infer", "shop-key"), Http::method_not_allowed);
  EXPECT_EQ(status("PUT", "/v2/models/double/infer", "wrong"), Http::unauthorized);
}

TEST_F(Routes, AnswersHaveWhatTheCallerMaySee) {
  server::Service service(options());
  const auto body = [&](std::string_view method, std::string_view path, const std::string& who) {
    const std::string authorization = "Bearer " + who + "-key";
    return reply_to(service, {.method = method, .path = path, .authorization = authorization}).body;
  };
  for (const auto& [method, path] : {std::pair("GET", "/v2/models/stats"), {"POST", "/v2/repository/index"}}) {
    EXPECT_THAT(body(method, path, "shop"), testing::AllOf(HasSubstr("double"), Not(HasSubstr("triple")))) << path;
    EXPECT_THAT(body(method, path, "bank"), testing::AllOf(HasSubstr("triple"), Not(HasSubstr("double")))) << path;
    EXPECT_THAT(body(method, path, "ops"), testing::AllOf(HasSubstr("double"), HasSubstr("triple"))) << path;
  }
}

// ---- every method ----

const std::map<std::string, std::string> kMethodAnswers = {
    {"/inference.GRPCInferenceService/ModelInfer", "16 0 7 0"},
    {"/inference.GRPCInferenceService/ModelStreamInfer", "16 0 0 0"},  // an error is a message
    {"/inference.GRPCInferenceService/ServerLive", "0 0 0 0"},
    {"/inference.GRPCInferenceService/ServerReady", "0 0 0 0"},
    {"/inference.GRPCInferenceService/ModelReady", "16 0 7 0"},
    {"/inference.GRPCInferenceService/ServerMetadata", "16 0 0 0"},
    {"/inference.GRPCInferenceService/ModelMetadata", "16 0 7 0"},
    {"/inference.GRPCInferenceService/ModelConfig", "16 0 7 0"},
    {"/inference.GRPCInferenceService/ModelStatistics", "16 0 7 0"},
    {"/inference.GRPCInferenceService/RepositoryIndex", "16 0 0 0"},
    {"/inference.GRPCInferenceService/RepositoryModelLoad", "16 7 7 0"},
    {"/inference.GRPCInferenceService/RepositoryModelUnload", "16 7 7 0"},
    {"/grpc.health.v1.Health/Check", "0 0 0 0"},
    {"/grpc.health.v1.Health/Watch", "4 4 4 4"},  // it goes on until the deadline
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "16 0 0 0"},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "16 0 0 0"},
    {"/inference.GRPCInferenceService/LogSettings", "16 0 0 0"},
    {"/inference.GRPCInferenceService/TraceSetting", "16 0 0 0"},
    {"/inference.GRPCInferenceService/SystemSharedMemoryStatus", "16 0 0 0"},
    {"/inference.GRPCInferenceService/SystemSharedMemoryRegister", "16 3 3 3"},  // without a name
    {"/inference.GRPCInferenceService/SystemSharedMemoryUnregister", "16 0 0 0"},
};

std::string message_for(std::string_view method) {
  if (method.ends_with("Infer")) {
    return field(1, "double") + input("x", "FP32", {1, 2}) + field(7, raw<float>({1, 2}));
  }
  if (method.find("RepositoryModel") != std::string_view::npos) return field(2, "double");
  return method.find("/Model") != std::string_view::npos ? field(1, "double") : "";
}

TEST_F(Routes, MethodsAreForThoseThatTheirRulesName) {
  RunningServer server(options());
  for (const server::Grpc::Listed& method : server::Grpc::methods()) {
    const std::string name(method.name);
    ASSERT_TRUE(kMethodAnswers.contains(name)) << name << " is new: say here who may call it";
    std::string answers;
    for (const std::string caller : kCallers) {
      GrpcClient client(server.ports.grpc);
      const HeaderList key = caller.empty() ? HeaderList() : HeaderList{{"authorization", "Bearer " + caller + "-key"}};
      HeaderList headers = key;
      if (name.ends_with("Watch")) headers.emplace_back("grpc-timeout", "10m");
      const std::int32_t id = client.open(name, headers);
      client.send(id, framed(message_for(name)), true);
      const auto& answer = client.wait(id);
      answers += (answers.empty() ? "" : " ") + answer.code();
      if (caller == "bank" && name.ends_with("ModelStreamInfer")) {
        EXPECT_THAT(answer.data, HasSubstr("tenant 'bank' may not use model 'double'"));
      }
      if (name.ends_with("Unload")) server.service.models().load("double");
    }
    EXPECT_EQ(answers, kMethodAnswers.at(name)) << name;
  }
  EXPECT_EQ(server::Grpc::methods().size(), kMethodAnswers.size());
}

/// A stream that a stranger opens is refused before a message comes: none is read, and none inflated.
TEST_F(Routes, AStreamNeedsAKeyBeforeItsFirstMessage) {
  const RunningServer server(options());
  GrpcClient client(server.ports.grpc);
  const std::int32_t id = client.open("/inference.GRPCInferenceService/ModelStreamInfer");
  EXPECT_EQ(client.wait(id).code(), "16");
}

// ---- the gate ----

std::string refused(const Gate& gate, const Rule& rule, const server::Credentials& by) {
  try {
    gate.admit(rule, by);
    return "";
  } catch (const server::Refusal& refusal) {
    return std::to_string(static_cast<unsigned>(refusal.status())) + " " + refusal.what();
  }
}

TEST(TheGate, LetsNobodyInWithoutARule) {
  for (const auto& tenants : {std::vector<Tenant>(), kTenants}) {
    const Tenants known(tenants);
    const Gate gate(known, {.model_control = true, .replay = true, .tensors = true, .host_names = {"*"}});
    EXPECT_THAT(refused(gate, {}, {.authorization = "Bearer ops-key", .host = "localhost"}), HasSubstr("403 no rule"));
  }
}

TEST(TheGate, WantsWhatIsOffToBeTurnedOn) {
  const Tenants nobody({});
  Gate gate(nobody, {});
  const server::Credentials here{.host = "localhost"};
  const Rule control{.access = Access::admin, .feature = Feature::model_control},
      replay{.access = Access::tenant, .feature = Feature::replay};
  EXPECT_THAT(refused(gate, control, here),
              HasSubstr("403 model control over the network is off: give --model-control"));
  EXPECT_THAT(refused(gate, replay, here), HasSubstr("403 replays are off: give --replay"));
  EXPECT_FALSE(gate.shows_tensors());
  gate.replace({.model_control = true});
  EXPECT_EQ(refused(gate, control, here), "");
  EXPECT_THAT(refused(gate, replay, here), HasSubstr("403 replays are off"));
}

struct FromAPage {
  const char* what;
  std::string_view host;
  std::optional<std::string_view> origin;
  std::string_view type;
  std::string_view passes;  ///< the levels that let it in: "any own host write"
};

class Pages : public testing::TestWithParam<FromAPage> {};

TEST_P(Pages, CannotDoMoreThanTheirLevel) {
  const auto& [what, host, origin, type, passes] = GetParam();
  const Tenants nobody({});
  const Gate gate(nobody, {.host_names = {"models.example"}});
  std::string passed;
  for (const auto& [name, level] : {std::pair("any", Browser::any_page),
                                    {"own", Browser::own_page},
                                    {"host", Browser::own_host},
                                    {"write", Browser::own_write}}) {
    const Rule rule{.access = Access::tenant, .browser = level};
    const bool in = refused(gate, rule, {.host = host, .origin = origin, .content_type = type}).empty();
    if (in) passed += (passed.empty() ? "" : " ") + std::string(name);
  }
  EXPECT_EQ(passed, passes) << what;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Pages,
    testing::Values(
        FromAPage{"a program", "127.0.0.1:8000", {}, "application/json", "any own host write"},
        FromAPage{"a program with IPv6", "[::1]:8000", {}, "", "any own host write"},
        FromAPage{"curl -d", "localhost:8000", {}, "application/x-www-form-urlencoded", "any own host"},
        FromAPage{"by another name", "LocalHost", {}, "", "any own host write"},
        FromAPage{"by a configured name", "Models.Example:80", {}, "", "any own host write"},
        FromAPage{"by a foreign name", "evil.example:8000", {}, "application/json", "any own"},
        FromAPage{"by a name that looks like ours", "localhost.evil.example", {}, "", "any own"},
        FromAPage{"by a name with an address in it", "127.0.0.1.evil.example", {}, "", "any own"},
        FromAPage{"without a name", "", {}, "", "any own"},
        FromAPage{"its own page", "localhost:8000", "http://localhost:8000", "application/json", "any own host write"},
        FromAPage{"its own page behind TLS", "models.example", "https://models.example", "", "any own host write"},
        FromAPage{"a foreign page", "localhost:8000", "http://evil.example", "application/json", "any"},
        FromAPage{"a page of another port", "localhost:8000", "http://localhost:3000", "", "any"},
        FromAPage{"a page in a frame", "localhost:8000", "null", "", "any"},
        FromAPage{"a page whose name leads here", "evil.example:8000", "http://evil.example:8000", "", "any"},
        FromAPage{"a form", "localhost:8000", "http://evil.example", "multipart/form-data; boundary=x", "any"},
        FromAPage{"an old browser's form", "localhost:8000", {}, "Text/Plain ; charset=utf-8", "any own host"}));

/// What a page could send to localhost without asking: none of it changes anything.
TEST_F(Routes, APageCannotPostToLocalhost) {
  server::ServiceOptions open = options();
  open.config.tenants.clear();
  const RunningServer server(open);
  const std::string page = "Origin: http://evil.example\r\nContent-Type: text/plain\r\n";
  for (const char* target : {"/v2/repository/models/double/unload", "/v2/repository/models/double/load",
                             "/v2/repository/config/load", "/v2/models/double/infer", "/v2/repository/index"}) {
    HttpClient client(server.ports.http);
    client.post(target, target == std::string("/v2/models/double/infer") ? kOne : "", page);
    const auto [status, body, fields] = client.receive();
    EXPECT_EQ(status, 403U) << target;
    EXPECT_EQ(fields.count("Access-Control-Allow-Origin"), 0U);
  }
  EXPECT_EQ(server.service.models().find("double", "")->statistics().success.count(), 0U);
  GrpcClient grpc(server.ports.grpc);
  EXPECT_EQ(
      grpc.wait(grpc.call("RepositoryModelUnload", field(2, "double"), {{"origin", "http://evil.example"}})).code(),
      "7");
  EXPECT_NO_THROW(server.service.models().find("double", ""));
}

// ---- configuration ----

TEST_F(Routes, WhatTheNetworkMayDoIsConfigured) {
  const auto config = server::read_server_config_text(
      "network: {model_control: true, replay: true, tensors: true, host_names: [a.example, '*']}", "c.yaml");
  EXPECT_EQ(config.network,
            (NetworkConfig{.model_control = true, .replay = true, .tensors = true, .host_names = {"a.example", "*"}}));
  EXPECT_EQ(server::read_server_config_text("", "c.yaml").network, NetworkConfig());
  for (const char* bad : {"network: {control: true}", "network: {replay: 2}", "network: {host_names: ['a:80']}"}) {
    EXPECT_THROW(server::read_server_config_text(bad, "c.yaml"), api::Error) << bad;
  }
}

TEST_F(Routes, ModelControlReplaysAndTensorsAreOffByDefault) {
  server::ServiceOptions closed = options();
  closed.config.tenants.clear();
  closed.network = {};
  std::optional<server::Service> service(closed);
  const auto send = [&](std::string_view method, std::string_view path, std::string_view body = "") {
    return reply_to(*service, {.method = method, .path = path, .body = body});
  };
  EXPECT_EQ(send("POST", "/v2/models/double/infer", kOne).status, Http::ok);
  for (const char* path : {"/v2/repository/models/double/unload", "/v2/repository/models/double/load",
                           "/v2/repository/models/double/reset", "/v2/repository/config/load", "/v2/paths/1/replay"}) {
    EXPECT_EQ(send("POST", path).status, Http::forbidden) << path;
  }
  EXPECT_THAT(send("GET", "/v2/paths/1").body, Not(HasSubstr(R"("inputs")")));
  EXPECT_THAT(send("GET", "/v2/paths").body, Not(HasSubstr("[[1, 2]]")));
  closed.network = {.replay = true};
  service.reset();
  service.emplace(closed);
  send("POST", "/v2/models/double/infer", kOne);
  const std::string replayed = send("POST", "/v2/paths/1/replay").body;
  EXPECT_THAT(replayed, testing::AllOf(HasSubstr(R"("equal":true)"), Not(HasSubstr(R"("before")"))));
}

// ---- metrics ----

TEST_F(Routes, MetricsNameTenantsAndModelsToThoseWhoMaySeeThem) {
  const RunningServer server(options());
  for (const char* who : {"shop", "shop", "ops"}) {
    HttpClient client(server.ports.http);
    client.post("/v2/models/double/infer", kOne, "Authorization: Bearer " + std::string(who) + "-key\r\n");
    EXPECT_EQ(client.receive().status, 200U);
  }
  const auto metrics = [&](const std::string& who) {
    HttpClient client(server.ports.metrics);
    client.get("/metrics", who.empty() ? "" : "Authorization: Bearer " + who + "-key\r\n");
    return client.receive().body;
  };
  const char *tenant = "tenant=\"", *shop = R"(frazil_tenant_requests_total{tenant="shop"} 2)",
             *success = R"(frazil_requests_total{model="double",version="1",outcome="success"} )";
  EXPECT_THAT(metrics(""),
              testing::AllOf(HasSubstr("frazil_waiting_requests"), Not(HasSubstr(tenant)), Not(HasSubstr("model=\""))));
  EXPECT_THAT(metrics("wrong"), Not(HasSubstr(tenant)));
  EXPECT_THAT(metrics("shop"), testing::AllOf(HasSubstr(shop), Not(HasSubstr("tenant=\"ops\"")),
                                              HasSubstr(std::string(success) + "2"), Not(HasSubstr("triple"))));
  EXPECT_THAT(metrics("bank"), testing::AllOf(Not(HasSubstr("tenant=\"shop\"")), Not(HasSubstr("double"))));
  EXPECT_THAT(metrics("ops"), testing::AllOf(HasSubstr(shop), HasSubstr("tenant=\"ops\""),
                                             HasSubstr(std::string(success) + "3"), HasSubstr("triple")));
}

TEST_F(Routes, StatisticsAreOfOnesOwnRequests) {
  server::ServiceOptions shared = options();
  shared.config.tenants[1].models = {"double"};
  server::Service service(shared);
  const auto send = [&](std::string_view method, std::string_view path, const std::string& who,
                        std::string_view body = "") {
    const std::string authorization = "Bearer " + who + "-key";
    return reply_to(service, {.method = method, .path = path, .body = body, .authorization = authorization}).body;
  };
  for (int i = 0; i < 3; ++i) send("POST", "/v2/models/double/infer", "shop", kOne);
  send("POST", "/v2/models/double/infer", "bank", kOne);
  send("POST", "/v2/models/double/infer", "bank", "{");
  const auto counts = [&](const std::string& who) {
    const std::string json = send("GET", "/v2/models/double/stats", who);
    return json.substr(json.find("\"inference_count\""),
                       json.find(",\"inference_stats") - json.find("\"inference_count\""));
  };
  EXPECT_EQ(counts("shop"), R"("inference_count":3,"execution_count":3)");
  EXPECT_EQ(counts("bank"), R"("inference_count":1,"execution_count":1)");
  EXPECT_EQ(counts("ops"), R"("inference_count":4,"execution_count":4)");
  EXPECT_THAT(send("GET", "/v2/models/double/stats", "shop"), HasSubstr(R"("fail":{"count":0,)"));
  EXPECT_THAT(send("GET", "/v2/models/double/stats", "bank"), HasSubstr(R"("fail":{"count":1,)"));
}

// ---- changes ----

TEST_F(Routes, ALoadDoesNotWaitForWorkers) {
  folder_.add("count", kCount);
  server::ServiceOptions open = options();
  open.config.tenants.clear();
  const RunningServer server(open);
  HttpClient running(server.ports.http), control(server.ports.http);
  running.post("/v2/models/count/infer",
               R"({"inputs":[{"name":"n","datatype":"INT64","shape":[],"data":[2000000000]}]})");
  server.wait_for_start("count");  // the only worker is busy, and stays so
  const auto before = server.service.models().find("triple", "");
  control.post("/v2/repository/models/triple/load", "");
  EXPECT_EQ(control.receive().status, 200U);
  EXPECT_NE(server.service.models().find("triple", ""), before);
  running.close();
}

}  // namespace
}  // namespace frazil::test
