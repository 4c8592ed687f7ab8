// Reading the configuration again: what changes, what stays, and that nobody who asks meanwhile notices.
#include <csignal>
#include <thread>

#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/config/config_yaml.h"
#include "server/rest_asked.h"
#include "server/running.h"

namespace frazil::test {
namespace {

using server::Http;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Reloads : public testing::Test {
 protected:
  Reloads() {
    folder_.add("double", kDouble);
    folder_.add("triple", kTriple);
    folder_.add("count", kCount);
    folder_.write("p.yaml",
                  "inputs: {x: 'f32[N,2]'}\nsteps: [{name: s, model: double, inputs: {x: x}}]\noutputs: {y: s.y}\n");
  }
  void write(const std::string& config) const { files_.write("frazil.yaml", config); }
  server::ServiceOptions options(const std::string& config) {
    write(config);
    server::ServiceOptions made = options_of(folder_);
    made.workers = 2;
    made.config_file = files_.path() + "frazil.yaml";
    made.config = server::read_server_config(made.config_file);
    made.notify = [this](const server::Notice& notice) { log(notice.text); };
    return made;
  }
  void serve(const std::string& config) { service_.emplace(options(config)); }
  server::Service::Reloaded reload(const std::string& config) {
    write(config);
    return service_->reload_config();
  }
  server::Reply send(std::string_view method, std::string_view path, const std::string& key = "",
                     std::string_view body = "", std::string_view query = "") {
    const std::string authorization = key.empty() ? "" : "Bearer " + key;
    return reply_to(*service_,
                    {.method = method, .path = path, .query = query, .body = body, .authorization = authorization});
  }
  std::uint64_t most(const char* model) { return service_->models().find(model, "")->config().batching.most; }
  void log(const std::string& line) {
    const std::scoped_lock lock(mutex_);
    lines_.push_back(line);
  }
  std::vector<std::string> lines() {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }

  Folder folder_, files_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::optional<server::Service> service_;
};

constexpr std::string_view kNamedRequest =
    R"({"id":"one","inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]})";

TEST_F(Reloads, ApplyWhatDiffersAndNothingElse) {
  serve(
      "models: {double: {batching: {max_batch_size: 4}}, triple: {batching: {max_batch_size: 2}}}\n"
      "tenants: [{name: a, keys: [ka]}]\npaths: {ring: 10}\n");
  const auto triple = service_->models().find("triple", ""), pipeline = service_->models().find("p", "");
  const auto came = reload(
      "models: {double: {batching: {max_batch_size: 8}}, triple: {batching: {max_batch_size: 2}}}\n"
      "tenants: [{name: a, keys: [kb], models: [p]}]\npaths: {ring: 10, inputs: true}\n");
  EXPECT_THAT(came.changed, ElementsAre("models.double", "tenants", "paths"));
  EXPECT_THAT(came.left, IsEmpty());
  EXPECT_EQ(most("double"), 8U);
  EXPECT_EQ(service_->models().find("triple", ""), triple);
  EXPECT_NE(service_->models().find("p", ""), pipeline) << "it uses the model that is served in another way";
  EXPECT_EQ(send("POST", "/v2/models/p/infer", "ka", kNamedRequest).status, Http::unauthorized);
  EXPECT_EQ(send("POST", "/v2/models/double/infer", "kb", kNamedRequest).status, Http::forbidden);
  EXPECT_EQ(send("POST", "/v2/models/p/infer", "kb", kNamedRequest).status, Http::ok);
  EXPECT_THAT(send("GET", "/v2/paths", "kb").body, HasSubstr(R"("inputs":{"x":)"));
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("was read again: changed models.double, tenants, paths")));
  EXPECT_THAT(reload("").changed, ElementsAre("models.double", "models.triple", "tenants", "paths"));
  EXPECT_EQ(most("triple"), 0U) << "what stands beside the model holds again";
  EXPECT_EQ(send("POST", "/v2/models/double/infer", "", kNamedRequest).status, Http::ok) << "there are no tenants";
  EXPECT_THAT(reload("").changed, IsEmpty());
}

TEST_F(Reloads, NameWhatHoldsUntilARestart) {
  const TempFolder states;
  serve("state: {memory: 1MiB}\n");
  const auto came = reload("state: {pages: false, folder: '" + std::string(states / "s") + "'}\npaths: {ring: 5}\n");
  EXPECT_THAT(came.changed, ElementsAre("paths", "state.memory"));
  EXPECT_THAT(came.left, ElementsAre("state.folder", "state.pages"));
  EXPECT_THAT(lines(),
              ElementsAre(HasSubstr("changed paths, state.memory; left until a restart: state.folder, state.pages")));
}

TEST_F(Reloads, LimitsOfStatesHoldAtOnce) {
  folder_.add("acc", "graph g(%x: f32[1,2], %acc: f32[1,2]) { %y = Add(%x, %acc) return y = %y }");
  const std::string models = "models: {acc: {state: {acc: y}}}\n";
  serve(models + "state: {max_sequences: 1}\n");
  const auto turn = [&](const char* id, bool start) {
    return ask(*service_, {.model = "acc", .inputs = {{"x", row({1, 1})}}, .sequence = {.id = id, .start = start}})
        .get();
  };
  EXPECT_TRUE(turn("a", true));
  EXPECT_EQ(turn("b", true).error().status(), Http::too_many);
  EXPECT_THAT(reload(models + "state: {max_sequences: 2}\n").changed, ElementsAre("state.max_sequences"));
  EXPECT_TRUE(turn("b", true));
  EXPECT_THAT(floats_of(turn("a", false)), ElementsAre(2, 2));
  EXPECT_THAT(reload(models + "state: {memory: 1, max_sequences: 9}\n").changed,
              ElementsAre("state.memory", "state.max_sequences"));
  EXPECT_EQ(turn("c", true).error().status(), Http::too_many) << "there is no more memory";
}

TEST_F(Reloads, ABadFileChangesNothing) {
  const std::string good =
      "models: {double: {batching: {max_batch_size: 4}}}\ntenants: [{name: a, keys: [ka], admin: true}]\n";
  serve(good);
  const auto before = service_->repository();
  const struct {
    const char *config, *why;
  } cases[] = {
      {"tenants: [", "frazil.yaml:"},
      {"tenants: [{name: b, keys: [kb]}]\nmodels: {none: {warm_up: 1}}\n", "has model 'none', the folder does not"},
      {"tenants: [{name: b, keys: [kb]}]\nmodels: {double: {batching: {max_batch_size: 4, pad: {z: 1}}}}\n",
       "there is no input 'z'"},
      {"tenants: [{name: b, keys: [kb]}]\nmodels: {triple: {warm_up: 1}, count: {batching: {max_batch_size: 4}}}\n",
       "model 'count'"},
      {"paths: {ring: -1}", "'paths.ring'"}};
  for (const auto& [config, why] : cases) {
    write(config);
    const server::Reply reply = send("POST", "/v2/repository/config/load", "ka");
    EXPECT_EQ(reply.status, Http::bad_request);
    EXPECT_THAT(reply.body, HasSubstr(why));
    EXPECT_EQ(service_->repository(), before) << config;
    EXPECT_EQ(send("POST", "/v2/models/double/infer", "ka", kNamedRequest).status, Http::ok) << config;
    EXPECT_EQ(send("GET", "/v2", "kb").status, Http::unauthorized) << config;
  }
  std::filesystem::remove(files_.path() + "frazil.yaml");
  EXPECT_EQ(send("POST", "/v2/repository/config/load", "ka").status, Http::bad_request);
  EXPECT_THAT(reload(good).changed, IsEmpty()) << "failures have left nothing behind";
  EXPECT_THAT(service_->metrics().body, HasSubstr(R"(frazil_config_reloads_total{outcome="failure"} 6)"));
  EXPECT_THAT(service_->metrics().body, HasSubstr(R"(frazil_config_reloads_total{outcome="success"} 1)"));
}

TEST_F(Reloads, AreForAdministratorsWhereThereAreTenants) {
  serve("tenants: [{name: a, keys: [ka]}, {name: ops, keys: [ko], admin: true}]\n");
  write("tenants: [{name: ops, keys: [ko], admin: true}]\nstate: {max_sequences: 7}\n");
  EXPECT_EQ(send("POST", "/v2/repository/config/load", "ka").status, Http::forbidden);
  EXPECT_EQ(send("GET", "/v2/repository/config/load", "ko").status, Http::method_not_allowed);
  EXPECT_EQ(send("POST", "/v2/repository/config/load", "ko").body,
            R"({"changed":["tenants","state.max_sequences"],"left":[]})");
  EXPECT_EQ(send("GET", "/v2", "ka").status, Http::unauthorized);
  service_.emplace(options_of(folder_));
  EXPECT_THAT(send("POST", "/v2/repository/config/load").body, HasSubstr("was started without --config"));
}

TEST_F(Reloads, UnloadedModelsStayUnloaded) {
  serve("");
  service_->models().unload("p");
  service_->models().unload("double");
  EXPECT_THAT(reload("models: {double: {warm_up: 1}}\n").changed, IsEmpty());
  EXPECT_THROW(service_->models().find("p", ""), server::Refusal);
  service_->models().load("double");
  EXPECT_THROW(service_->models().find("p", ""), server::Refusal);
}

TEST_F(Reloads, RequestsThatHaveBegunKeepWhatTheyBeganWith) {
  serve("models: {count: {batching: {max_batch_size: 0}}}\ntenants: [{name: a, keys: [ka]}]\npaths: {inputs: true}\n");
  const auto before = service_->models().find("count", "");
  const auto caller = std::make_shared<server::Caller>();
  const std::string authorization = "Bearer ka", body = R"({"inputs":[{"name":"n","datatype":"INT64","shape":[],)"
                                                        R"("data":[2000000000]}]})";
  std::promise<server::Reply> reply;
  const server::Message message{
      .method = "POST", .path = "/v2/models/count/infer", .body = body, .authorization = authorization};
  ask_rest(*service_, message, caller, [&](server::Reply answer) { reply.set_value(std::move(answer)); });
  while (before->statistics().pending == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  reload("models: {count: {deadline_ms: 5}}\ntenants: [{name: ops, keys: [ko], admin: true}]\npaths: {ring: 100}\n");
  EXPECT_NE(service_->models().find("count", ""), before);
  EXPECT_EQ(send("POST", "/v2/models/count/infer", "ko", body).status, Http::timeout) << "the new deadline";
  EXPECT_EQ(before->statistics().fail.count(), 1U) << "the first one still runs, without one";
  caller->leave();
  EXPECT_EQ(reply.get_future().get().status, Http::cancelled);
  const std::string paths = send("GET", "/v2/paths", "ko").body;
  EXPECT_THAT(paths, HasSubstr(R"("tenant":"a")"));
  EXPECT_THAT(paths, HasSubstr(R"("tenant":"ops")"));
}

TEST_F(Reloads, WhatIsHiddenNowIsHiddenInWhatWasKeptBefore) {
  serve("paths: {inputs: true, redact: [y], ring: 3}\n");
  for (int i = 0; i < 3; ++i) send("POST", "/v2/models/double/infer", "", kNamedRequest);
  EXPECT_THAT(send("GET", "/v2/paths/3").body, HasSubstr("[[1, 2]]"));
  reload("paths: {inputs: true, redact: [x], ring: 2}\n");
  EXPECT_EQ(send("GET", "/v2/paths/1").status, Http::not_found) << "fewer are kept";
  EXPECT_THAT(send("GET", "/v2/paths/3").body,
              HasSubstr(R"x("inputs":{"x":"(redacted)"},"outputs":{"y":"(redacted)"})x"));
  reload("paths: {inputs: false, ring: 0}\n");
  EXPECT_EQ(send("GET", "/v2/paths").body, "[]");
  send("POST", "/v2/models/double/infer", "", kNamedRequest);
  EXPECT_EQ(send("GET", "/v2/paths").body, "[]");
}

TEST_F(Reloads, TheShareOfCheckedRunsChanges) {
  serve("");
  const auto served = service_->models().find("double", "");
  send("POST", "/v2/models/double/infer", "", kNamedRequest);
  reload("paths: {check: 1}\n");
  EXPECT_EQ(service_->models().find("double", ""), served);
  send("POST", "/v2/models/double/infer", "", kNamedRequest);
  while (served->checked().runs == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(served->checked().runs, 1U);
}

TEST_F(Reloads, HappenOnAHangup) {
  RunningServer server(options(""));
  const auto wait_for_line = [&](std::size_t number) {
    while (lines().size() < number) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return lines().at(number - 1);
  };
  write("models: {double: {batching: {max_batch_size: 4}}}\n");
  std::raise(SIGHUP);
  EXPECT_THAT(wait_for_line(1), HasSubstr("was read again: changed models.double"));
  EXPECT_EQ(server.service.models().find("double", "")->config().batching.most, 4U);
  write("models: {");
  std::raise(SIGHUP);
  EXPECT_THAT(wait_for_line(2), HasSubstr("not changed: "));
  EXPECT_EQ(server.service.models().find("double", "")->config().batching.most, 4U);
}

/// Each client has a key and a model of his own, and configurations in which all of it is there, in other words.
TEST_F(Reloads, NobodyNoticesWhenTheyAskMeanwhile) {
  constexpr int kReloads = 400;
  const std::string configs[] = {
      "models: {double: {batching: {max_batch_size: 4}}}\npaths: {ring: 100}\ntenants:\n"
      "  - {name: shop, keys: [ks, k1], models: [double, p], max_waiting: 50}\n"
      "  - {name: bank, keys: [kb]}\n  - {name: ops, keys: [ko], admin: true}\n",
      "models: {triple: {warm_up: 1}}\npaths: {ring: 50, inputs: true}\ntenants:\n"
      "  - {name: ops, keys: [ko], admin: true}\n  - {name: guest, keys: [k1]}\n"
      "  - {name: bank, keys: [kb, k2], models: [triple], requests_per_second: 1000000}\n"
      "  - {name: shop, keys: [ks]}\n"};
  serve(configs[0]);
  std::atomic<bool> over = false;
  std::atomic<std::uint64_t> answers = 0;
  const auto client = [&](const std::string& name, const std::string& key, const std::string& model, const char* y) {
    const std::string path = "/v2/models/" + model + "/infer", other = name == "shop" ? "bank" : "shop";
    while (!over) {
      const std::string body = R"({"id":")" + name + std::string(kNamedRequest.substr(kNamedRequest.find("one") + 3));
      const server::Reply reply = send("POST", path, key, body);
      ASSERT_EQ(reply.status, Http::ok) << reply.body;
      ASSERT_THAT(reply.body, HasSubstr(y));
      ++answers;
      const std::string own = send("GET", "/v2/paths", key, "", "limit=20").body;
      ASSERT_THAT(own, testing::Not(HasSubstr(other))) << "another tenant's requests are shown";
    }
  };
  std::vector<std::thread> clients;
  clients.emplace_back(client, "shop", "ks", "double", R"("data":[2,4])");
  clients.emplace_back(client, "shop", "ks", "p", R"("data":[2,4])");
  clients.emplace_back(client, "bank", "kb", "triple", R"("data":[3,6])");
  for (int i = 1; i <= kReloads; ++i) reload(configs[i % 2]);
  over = true;
  for (std::thread& one : clients) one.join();
  EXPECT_GT(answers, 100U);
  for (const char* name : {"shop", "bank"}) {
    for (const auto& record : service_->paths().find({.id = name})) EXPECT_EQ(record->tenant, name);
  }
  RecordProperty("answers", std::to_string(answers));
}

}  // namespace
}  // namespace frazil::test
