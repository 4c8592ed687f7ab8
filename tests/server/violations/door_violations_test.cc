// Hosts, programs, settings and management that rules forbid; and who may ask without a key.
#include <array>
#include <cstring>
#include <set>

#include <frazil/frazil.h>

#include "server/grpc/grpc.h"
#include "server/grpc_encode.h"
#include "server/net/redis.h"
#include "server/other_server.h"
#include "server/rest_asked.h"
#include "server/violations/served.h"

namespace frazil::test {
namespace {

using server::Http;
using server::PortKind;
using server::Rest;
using testing::HasSubstr;

class DoorViolations : public Seeded {
 protected:
  server::Reply send(const std::string& tenant, std::string_view method, const std::string& path,
                     const std::string& body = "") const {
    const std::string authorization = tenant.empty() ? "" : "Bearer " + tenant + "-key";
    return reply_to(*service_, {.method = method, .path = path, .body = body, .authorization = authorization});
  }
  /// Returns "permitted" unless the answer is 403.
  std::string rest(const std::string& tenant, std::string_view method, const std::string& path,
                   const std::string& body = "") const {
    const server::Reply reply = send(tenant, method, path, body);
    return reply.status == Http::forbidden ? reply.body : "permitted";
  }
  std::string grpc(const std::string& tenant, const std::string& method, const std::string& message) const {
    std::promise<server::GrpcReply> promise;
    const std::string name = "/inference.GRPCInferenceService/" + method;
    server::Grpc(*service_).answer({.method = name,
                                    .message = std::make_shared<const std::string>(message),
                                    .caller = std::make_shared<server::Caller>(),
                                    .arrived = server::Clock::now(),
                                    .authorization = "Bearer " + tenant + "-key",
                                    .host = "localhost"},
                                   [&](server::GrpcReply reply) { promise.set_value(std::move(reply)); });
    const server::GrpcReply reply = promise.get_future().get();
    return reply.code == server::GrpcCode::permission_denied ? reply.text : "permitted";
  }
};

// ---- connections and programs ----

const std::string kHttpAnswer =
    answered(R"({"model_name":"m","outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"data":[[7,8.5]]}]})");

std::string http_step(const std::string& url, const std::string& more = "") {
  return "  - {name: out, http: {url: '" + url + "', inputs: {x: x}, outputs: {y: 'f32[N,2]'}, timeout_ms: 5000" +
         more + "}}\n";
}

class ExternalViolations : public DoorViolations {
 protected:
  ExternalViolations() {
    add("small", kDouble);
    add_pipeline("web", http_step(first_.url()));
    add_pipeline("defaults", http_step(first_.url(), ", on_error: defaults"));
    add_pipeline("other", http_step("http://localhost:" + port_of(second_) + "/second"));
    serve();
    folder_.write("step.py", "def f(x):\n  return x\n");
    folder_.write("code.yaml",
                  "inputs: {x: 'f32[N,2]'}\nsteps:\n  - {name: out, code: {python: step.py, function: f, inputs: {x: "
                  "x}, outputs: {y: 'f32[N,2]'}}}\noutputs: {y: out.y}\n");
  }
  static std::string port_of(const OtherServer& other) { return other.address().substr(other.address().find(':') + 1); }

  OtherServer first_{[](const std::string&) { return kHttpAnswer; }};
  OtherServer second_{[](const std::string&) { return kHttpAnswer; }};
};

/// 9 rules for steps that ask another server.
TEST_F(ExternalViolations, HostsAreRefusedByWhatIsConnected) {
  const std::string port = port_of(first_);
  const auto run_as = [&](const char* tenant, const char* model) {
    return [this, tenant, model] { return run({.tenant = tenant, .model = model}); };
  };
  std::vector<Violation> all;
  for (const std::string& rule :
       {std::string(R"(host == "127.0.0.1")"), "address == \"127.0.0.1\" && port == " + port,
        "address.startsWith(\"127.\") && port == " + port, "port == " + port,
        std::string(R"(path == "/v2/models/m/infer")"), std::string(R"(kind == "http" && model == "web")")}) {
    all.push_back({"connect", forbid("external", rule), run_as("shop", "web"), run_as("shop", "other")});
  }
  all.push_back({"tenant", forbid("external", R"(tenant == "shop" && model == "web")"), run_as("shop", "web"),
                 run_as("bank", "web")});
  all.push_back({"kept connection", forbid("external", R"(tenant == "shop" && model == "other")"),
                 run_as("shop", "other"), run_as("bank", "other")});
  all.push_back({"no defaults", forbid("external", R"(tenant == "shop" && model == "defaults")"),
                 run_as("shop", "defaults"), run_as("bank", "defaults")});
  ASSERT_EQ(all.size(), 9U);
  expect_refused(*governor_, all);
}

TEST_F(ExternalViolations, ARefusedAddressIsNotConnected) {
  governor_->replace(all_but(forbid("external", R"(address == "127.0.0.1")")));
  EXPECT_THAT(run({.tenant = "shop", .model = "web"}), HasSubstr("rule 'seeded'"));
  EXPECT_EQ(first_.connections, 0);
}

TEST_F(ExternalViolations, ARedirectIsNotFollowed) {
  OtherServer redirecting([this](const std::string&) {
    return "HTTP/1.1 302 Found\r\nLocation: " + second_.url() + "\r\nContent-Length: 0\r\n\r\n";
  });
  add_pipeline("redirected", http_step(redirecting.url()));
  service_->models().load("redirected");
  EXPECT_THAT(run({.tenant = "shop", .model = "redirected"}), HasSubstr("the other server answers 302"));
  EXPECT_EQ(second_.connections, 0);
}

/// 4 rules for programs of steps. The program is not started.
TEST_F(ExternalViolations, ProgramsAreRefusedBeforeTheyStart) {
  const auto load = [&](const char* model) {
    return [this, model] { return result_of([&] { service_->models().load(model); }); };
  };
  std::vector<Violation> all;
  for (const std::string rule : {R"(kind == "code")", R"(path.endsWith("/step.py"))",
                                 R"(kind == "code" && sandbox.size() > 0)", R"(has(digest) && digest != "sha256:0")"}) {
    all.push_back({"code", forbid("external", rule), load("code"), load("other")});
  }
  expect_refused(*governor_, all);
}

/// 2 ways to a Redis.
TEST_F(ExternalViolations, RedisIsNotConnectedAtARefusedAddress) {
  OtherServer redis([](const std::string&) { return "+PONG\r\n"; });
  const auto rejects = [](const server::PeerAddress& peer) {
    return peer.address == "127.0.0.1" ? std::optional<std::string>("rule 'seeded': not here") : std::nullopt;
  };
  const auto fault = [](auto ask) {
    try {
      ask();
    } catch (const server::RedisFault& why) {
      return std::string(why.what());
    }
    return std::string("permitted");
  };
  server::Redis at_connect(redis.address(), {.may_connect = rejects});
  EXPECT_EQ(fault([&] { at_connect.run({"PING"}); }), "rule 'seeded': not here");
  server::Redis in_run(redis.address());
  const server::Redis::Command ping{"PING"};
  EXPECT_EQ(fault([&] { in_run.run(std::span(&ping, 1), {}, rejects); }), "rule 'seeded': not here");
  EXPECT_EQ(redis.connections, 0);
}

// ---- the configuration ----

class ConfigViolations : public DoorViolations {
 protected:
  ConfigViolations() {
    add("small", kDouble);
    serve();
  }
  /// Returns the configuration with a text replaced.
  static std::string with(const std::string& what, const std::string& by) {
    std::string config = kSeededConfig;
    config.replace(config.find(what), what.size(), by);
    return config;
  }
  /// A change that is permitted is undone, without the rule.
  std::string reload(const std::string& config, const std::string& user = "ops") const {
    files_.write("frazil.yaml", config);
    const std::string result = result_of([&] { service_->reload_config(user); });
    files_.write("frazil.yaml", kSeededConfig);
    if (result != "permitted") return result;
    governor_->replace(all_but(""));
    service_->reload_config(user);
    return result;
  }
};

/// 16 rules for a file that is read again.
TEST_F(ConfigViolations, ChangesAreRefusedBeforeTheyTakeEffect) {
  struct Row {
    const char* rule;
    std::string violation, sibling;
  };
  const std::string more_ring = with("ring: 10", "ring: 20"), end = "redact: [secret]}";
  const std::string model = "\nmodels: {small: {batching: {max_batch_size: ";
  const Row kRows[] = {
      {"lowered.redaction", with("redact: [secret]", "redact: []"), with("redact: [secret]", "redact: [a, secret]")},
      {"lowered.redaction", with(", redact: [secret]", ""), more_ring},
      {"lowered.redaction", with("[secret]", "[other]"), more_ring},
      {"lowered.sampling", with("sample: 1.0", "sample: 0.5"), more_ring},
      {"lowered.sampling", with("ring: 10", "ring: 5"), more_ring},
      {R"(changes.exists(c, c.path.startsWith("tenants[eve]")))", with("paths:", "  - {name: eve, keys: [e]}\npaths:"),
       more_ring},
      {R"(changes.exists(c, c.path == "tenants[shop].admin" && has(c.new) && c.new == "true"))",
       with("[shop-key]}", "[shop-key], admin: true}"), with("[shop-key]}", "[shop-key], admin: false}")},
      {R"(changes.exists(c, c.path.startsWith("tenants[shop].keys")))", with("shop-key", "stolen"),
       with("bank-key", "new")},
      {R"(changes.exists(c, c.path == "tenants[bank].name" && !has(c.new)))",
       with("  - {name: bank, keys: [bank-key]}\n", ""), more_ring},
      {R"(changes.exists(c, c.path == "tenants[shop].models[0]"))", with("[shop-key]}", "[shop-key], models: [small]}"),
       more_ring},
      {R"(changes.exists(c, c.path == "network.replay" && has(c.new) && c.new == "true"))",
       std::string(kSeededConfig) + "network: {replay: true}\n",
       std::string(kSeededConfig) + "network: {replay: false}\n"},
      {R"(changes.exists(c, c.path == "models.small.batching.max_batch_size" && has(c.new) && int(c.new) > 16))",
       kSeededConfig + model + "32}}}\n", kSeededConfig + model + "16}}}\n"},
      {R"(changes.exists(c, c.path == "paths.inputs" && has(c.new) && c.new == "false"))",
       with("inputs: true", "inputs: false"), more_ring},
      {R"(changes.exists(c, c.path == "state.memory"))", std::string(kSeededConfig) + "state: {memory: 1MiB}\n",
       std::string(kSeededConfig) + "state: {max_sequences: 9}\n"},
      {"changes.size() > 1", with("ring: 10, sample: 1.0", "ring: 20, sample: 0.5"), more_ring},
      {R"(changes.exists(c, has(c.old) && c.old == "10"))", more_ring, with("sample: 1.0", "sample: 0.5")},
  };
  std::vector<Violation> all;
  for (const Row& row : kRows) {
    all.push_back({"reload", forbid("config", row.rule), [&] { return reload(row.violation); },
                   [&] { return reload(row.sibling); }});
  }
  ASSERT_EQ(all.size(), 16U);
  expect_refused(*governor_, all);
}

/// 3 other doors to the same settings.
TEST_F(ConfigViolations, OtherDoorsToSettingsAreTheSame) {
  const std::string path = "/v2/trace/setting";
  const auto entry = [](const char* rate) { return field(1, field(1, "trace_rate") + field(2, field(1, rate))); };
  const std::string more_ring = with("ring: 10", "ring: 20");
  const std::vector<Violation> all = {
      {"REST", forbid("config", "lowered.sampling"),
       [&] { return rest("ops", "POST", path, R"({"trace_rate":"10"})"); },
       [&] { return rest("ops", "POST", path, R"({"trace_rate":"1"})"); }},
      {"gRPC", forbid("config", "lowered.sampling"), [&] { return grpc("ops", "TraceSetting", entry("10")); },
       [&] { return grpc("ops", "TraceSetting", entry("1")); }},
      {"user", forbid("config", R"(user == "")"), [&] { return reload(more_ring, ""); },
       [&] { return reload(more_ring, "ops"); }}};
  expect_refused(*governor_, all);
}

TEST_F(ConfigViolations, ARefusedFileChangesNothing) {
  governor_->replace(all_but(forbid("config", R"(changes.exists(c, c.path.startsWith("tenants[eve]")))")));
  EXPECT_THAT(reload(with("paths:", "  - {name: eve, keys: [eve-key]}\npaths:")), HasSubstr("rule 'seeded'"));
  EXPECT_EQ(send("eve", "GET", "/v2").status, Http::unauthorized);
  EXPECT_EQ(send("shop", "GET", "/v2").status, Http::ok);
}

TEST(SettingsOfAConfiguration, HaveNoSecrets) {
  const auto config = server::read_server_config_text(
      "tenants: [{name: t, keys: [open-sesame]}]\n"
      "state: {redis: 'h:1', redis_user: u, redis_password: hidden}\n"
      "paths: {otlp: 'http://user:hidden@h:4318/p?token=hidden', sample: 0.5, redact: [a]}\n",
      "c.yaml");
  std::string all;
  for (const auto& [path, value] : config.settings) all += path + " = " + value + "\n";
  EXPECT_THAT(all, testing::Not(HasSubstr("hidden")));
  EXPECT_THAT(all, testing::Not(HasSubstr("sesame")));
  EXPECT_THAT(all, HasSubstr("tenants[t].keys[0] = \"sha256:"));
  EXPECT_THAT(all, HasSubstr("state.redis_password = \"sha256:"));
  EXPECT_THAT(all, HasSubstr("paths.otlp = \"http://h:4318/p\""));
  EXPECT_THAT(all, HasSubstr("paths.sample = 0.5\n"));
  EXPECT_THAT(all, HasSubstr("paths.redact[0] = \"a\"\n"));
}

// ---- administration ----

class AdminViolations : public DoorViolations {
 protected:
  AdminViolations() {
    add("small", kDouble);
    serve();
    EXPECT_EQ(run({.tenant = "shop", .model = "small"}), "permitted");
  }
};

std::string target_of(std::string_view pattern) {
  std::string target(pattern);
  for (const auto& [name, value] : {std::pair("{model}", "small"), {"{item}", "1"}}) {
    if (const std::size_t at = target.find(name); at != std::string::npos) target.replace(at, std::strlen(name), value);
  }
  return target;
}

/// 16 routes x 2 rules: whatever the routing table calls administration.
TEST_F(AdminViolations, EachManagementRouteIsAsked) {
  std::vector<Violation> all;
  for (const Rest::Route& route : Rest::routes()) {
    if (route.rule.action.empty() || route.handler.streams_events()) continue;
    const std::string action(route.rule.action), target = target_of(route.path), method(route.method);
    const auto by = [this, method, target](const std::string& tenant) {
      return [this, method, target, tenant] { return rest(tenant, method, target); };
    };
    all.push_back({method + " " + target, forbid("admin", "action == \"" + action + "\" && user == \"ops\""), by("ops"),
                   by("root")});
    all.push_back({method + " " + target, forbid("admin", "action == \"" + action + "\""), by("ops"),
                   [this] { return rest("ops", "GET", "/v2"); }});
  }
  ASSERT_EQ(all.size(), 36U);
  expect_refused(*governor_, all);
}

/// 7 methods.
TEST_F(AdminViolations, EachManagementMethodIsAsked) {
  const std::string setting = field(1, field(1, "log_verbose_level") + field(2, integer(2, 1))),
                    trace = field(1, field(1, "trace_rate") + field(2, field(1, "1")));
  std::vector<Violation> all;
  for (const auto& [method, action, message] :
       std::initializer_list<std::array<std::string, 3>>{{"RepositoryModelLoad", "load", field(2, "small")},
                                                         {"RepositoryModelUnload", "unload", field(2, "none")},
                                                         {"LogSettings", "log_settings", setting},
                                                         {"TraceSetting", "trace_settings", trace},
                                                         {"SystemSharedMemoryStatus", "shared_memory", ""},
                                                         {"SystemSharedMemoryRegister", "shared_memory", ""},
                                                         {"SystemSharedMemoryUnregister", "shared_memory", ""}}) {
    all.push_back({method, forbid("admin", "action == \"" + action + "\" && user == \"ops\""),
                   [=, this] { return grpc("ops", method, message); },
                   [=, this] { return grpc("root", method, message); }});
  }
  expect_refused(*governor_, all);
}

/// 4 rules for values of tensors, models and tenants.
TEST_F(AdminViolations, AdministrationIsDecidedByWhatItIsAbout) {
  const std::vector<Violation> all = {
      {"values", forbid("admin", R"(action == "tap" && user == "ops")"),
       [&] { return rest("ops", "GET", "/v2/paths/1"); }, [&] { return rest("root", "GET", "/v2/paths/1"); }},
      {"model", forbid("admin", R"(has(model) && model == "small")"),
       [&] { return rest("ops", "POST", "/v2/repository/models/small/load"); },
       [&] { return rest("ops", "POST", "/v2/repository/models/none/load"); }},
      {"all tenants", forbid("admin", R"(action == "view_paths" && !has(tenant))"),
       [&] { return rest("ops", "GET", "/v2/paths"); }, [&] { return rest("shop", "GET", "/v2/paths"); }},
      {"own requests", forbid("admin", R"(has(tenant) && tenant == "shop")"),
       [&] { return rest("shop", "GET", "/v2/paths"); }, [&] { return rest("bank", "GET", "/v2/paths"); }}};
  expect_refused(*governor_, all);
}

// ---- callers without a key ----

/// Every path with every verb: a caller without a key gets the health, the files of the live page, and numbers without
/// names at the port of metrics.
TEST_F(AdminViolations, WithoutAKeyOnlyHealthAndThePageAnswer) {
  const std::set<std::string> open = {"/v2/health/live", "/v2/health/ready", "/v2/live"};
  governor_->replace(all_but(""));
  std::size_t asked = 0;
  for (const Rest::Route& route : Rest::routes()) {
    for (const std::string verb : {"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "get"}) {
      const std::string target = target_of(route.path);
      const Rest rest(*service_, route.port_kind);
      const auto admitted = rest.admit({.method = verb, .path = target, .host = "localhost"});
      ++asked;
      const bool is_open = verb == "GET" && (open.contains(target) || target == "/metrics" || target == "/v2/live/1");
      if (is_open && admitted) continue;
      ASSERT_FALSE(admitted) << verb << " " << target;
      const auto status = admitted.error().status;
      const bool refused = status == Http::unauthorized || status == Http::method_not_allowed;
      EXPECT_TRUE(refused) << verb << " " << target << ": " << static_cast<unsigned>(status);
    }
  }
  EXPECT_EQ(asked, 9 * Rest::routes().size());
  EXPECT_EQ(send("", "GET", "/v2/live/1").status, Http::not_found) << "no file of the page";
  const auto metrics = service_->metrics(std::nullopt).body;
  EXPECT_THAT(metrics, testing::Not(HasSubstr("small")));
  EXPECT_THAT(metrics, testing::Not(HasSubstr("shop")));
}

TEST_F(AdminViolations, MethodsWithoutAKeyAnswerHealthAlone) {
  for (const server::Grpc::Listed& method : server::Grpc::methods()) {
    const std::string name(method.name);
    const bool is_health =
        name.find("Health/") != std::string::npos || name.ends_with("/ServerLive") || name.ends_with("/ServerReady");
    const auto result =
        result_of([&] { (void)server::Grpc(*service_).admit({.method = name, .by = {.host = "localhost"}}); });
    EXPECT_EQ(result == "permitted", is_health) << name << ": " << result;
  }
}

}  // namespace
}  // namespace frazil::test
