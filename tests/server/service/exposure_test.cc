// The arms that splits choose: their names in answers, and the log of exposures.
#include <regex>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "server/asked.h"
#include "server/core/digest.h"
#include "server/grpc_client.h"
#include "server/grpc_encode.h"
#include "server/http_test_client.h"
#include "server/rest_asked.h"
#include "server/running.h"
#include "server/service/exposure_log.h"

namespace frazil::test {
namespace {

using nlohmann::json;
using server::ExposureLog;
using server::Http;
using testing::HasSubstr;
using testing::Not;

std::vector<json> lines_of(const std::string& file) {
  std::vector<json> lines;
  std::istringstream in(content_of(file));
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

class Exposures : public testing::Test {
 protected:
  Exposures() {
    folder_.add("double", kDouble);
    folder_.add("triple", kTriple);
    folder_.add("fails", kFails);
    folder_.write("inner.yaml", split("ab", "{name: new, share: 1, model: triple, inputs: {x: x}}"));
    folder_.write("outer.yaml",
                  "inputs: {x: 'f32[N,2]'}\nsteps:\n  - {name: in, model: inner, inputs: {x: x}}\n"
                  "  - name: user\n    split:\n      by: param('user', 'nobody')\n      arms:\n"
                  "        - {name: all, share: 1, model: double, inputs: {x: in.y}}\noutputs: {y: user.y}\n");
    folder_.write("plain.yaml",
                  "inputs: {x: 'f32[N,2]'}\nsteps: [{name: a, model: double, inputs: {x: x}}]\noutputs: {y: a.y}\n");
    folder_.write("faulty.yaml", split("ab", "{name: bad, share: 1, model: fails, inputs: {x: x}}"));
    folder_.write("repeats.yaml",
                  "inputs: {x: 'f32[N,2]'}\nsteps:\n  - name: again\n    loop:\n      start: {v: x}\n"
                  "      most: 50\n      steps:\n        - name: ab\n          split:\n            arms:\n"
                  "              - {name: a, share: 0.5, model: double, inputs: {x: v}}\n"
                  "              - {name: b, share: 0.5, model: double, inputs: {x: v}}\n"
                  "      next: {v: ab.y}\noutputs: {y: again.v}\n");
  }
  static std::string split(const std::string& name, const std::string& arm) {
    return "inputs: {x: 'f32[N,2]'}\nsteps:\n  - name: " + name + "\n    split:\n      arms:\n        - " + arm +
           "\noutputs: {y: " + name + ".y}\n";
  }
  server::ServiceOptions options(const std::string& key = "") {
    server::ServiceOptions options = options_of(folder_);
    options.exposures = std::make_shared<ExposureLog>(ExposureLog::Options{.file = file_, .key = key});
    return options;
  }
  static json infer(server::Service& service, const std::string& model, const std::string& parameters = "{}") {
    const std::string path = "/v2/models/" + model + "/infer";
    const std::string body = R"({"id":"7","parameters":)" + parameters +
                             R"(,"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]})";
    return json::parse(reply_to(service, {.method = "POST", .path = path, .body = body}).body);
  }
  Folder folder_;
  TempFolder logs_;
  const std::string file_ = logs_ / "exposures";
};

TEST_F(Exposures, AnswersNameTheArmOfEachSplit) {
  const struct {
    const char *model, *parameters;
  } cases[] = {{"outer", R"({"frazil.arm.in.ab":"new","frazil.arm.user":"all"})"},
               {"inner", R"({"frazil.arm.ab":"new"})"},
               {"plain", "null"},
               {"double", "null"}};
  for (const double sample : {0.0, 1.0}) {
    server::ServiceOptions some = options_of(folder_);
    some.config.paths.sample = sample;
    server::Service service(some);
    for (const auto& c : cases) {
      const json answer = infer(service, c.model);
      ASSERT_TRUE(answer.contains("outputs")) << answer;
      EXPECT_EQ(answer.value("parameters", json()), json::parse(c.parameters)) << c.model << ' ' << sample;
    }
  }
}

TEST_F(Exposures, SplitsOfCalledPipelinesHaveThePathOfTheirStep) {
  folder_.write(
      "twice.yaml",
      "inputs: {x: 'f32[N,2]'}\nsteps:\n  - {name: first, model: inner, inputs: {x: x}}\n"
      "  - {name: second, model: outer, inputs: {x: first.y}}\n"
      "  - name: ab\n    split:\n      arms:\n        - {name: own, share: 1, model: inner, inputs: {x: second.y}}\n"
      "outputs: {y: ab.y}\n");
  server::ServiceOptions with_paths = options_of(folder_);
  with_paths.config.paths = {.sample = 1, .inputs = true};
  server::Service service(with_paths);
  const json arms = {{"frazil.arm.first.ab", "new"},
                     {"frazil.arm.second.in.ab", "new"},
                     {"frazil.arm.second.user", "all"},
                     {"frazil.arm.ab", "own"},
                     {"frazil.arm.ab.own.ab", "new"}};
  EXPECT_EQ(infer(service, "twice")["parameters"], arms);
  const auto refused = [&](const std::string& node) {
    return reply_to(
               service,
               {.method = "POST", .path = "/v2/paths/1/replay", .body = R"({"choices":{")" + node + R"(":"none"}})"})
        .body;
  };
  EXPECT_THAT(refused("second.in.ab"), HasSubstr("node 'second.in.ab' has no branch 'none'"));
  EXPECT_THAT(refused("in.ab"), Not(HasSubstr("has no branch"))) << "there is no such node";
}

TEST_F(Exposures, AllProtocolsNameThem) {
  const RunningServer server(options_of(folder_));
  HttpClient http(server.port);
  http.post("/v2/models/inner/generate", R"({"x":[1,2]})");
  EXPECT_THAT(http.receive().body, HasSubstr(R"("frazil.arm.ab":"new")"));
  http.post("/v2/models/inner/generate_stream", R"({"x":[1,2]})");
  EXPECT_THAT(http.receive().body, HasSubstr(R"("frazil.arm.ab":"new")"));
  GrpcClient grpc(server.ports.grpc);
  const std::string request = input("x", "FP32", {1, 2}) + field(7, raw<float>({1, 2}));
  const std::string arm = parameter(4, "frazil.arm.ab", field(3, "new"));
  EXPECT_THAT(grpc.wait(grpc.call("ModelInfer", field(1, "inner") + request)).data, HasSubstr(arm));
  EXPECT_THAT(grpc.wait(grpc.call("ModelStreamInfer", field(1, "inner") + request)).data, HasSubstr(arm));
  EXPECT_THAT(grpc.wait(grpc.call("ModelInfer", field(1, "plain") + request)).data, Not(HasSubstr("frazil.arm")));
}

TEST_F(Exposures, EachArmOfARequestHasALine) {
  {
    server::Service service(options());
    (void)infer(service, "outer", R"({"user":"it's 'x' gives 1"})");
    (void)infer(service, "plain");
    (void)infer(service, "faulty");
    (void)infer(service, "repeats");
  }
  const auto lines = lines_of(file_);
  ASSERT_EQ(lines.size(), 5U);
  const json& user = lines[1];
  EXPECT_THAT(user["time"].get<std::string>(), testing::MatchesRegex("20[0-9T:.-]+Z"));
  EXPECT_THAT(user["digest"].get<std::string>(), testing::StartsWith("sha256:"));
  EXPECT_GT(user["seconds"], 0);
  json bare = user;
  for (const char* changing : {"time", "digest", "seconds"}) bare.erase(changing);
  EXPECT_EQ(bare, json({{"pipeline", "outer"},
                        {"version", "1"},
                        {"split", "user"},
                        {"arm", "all"},
                        {"by", "sha256:" + server::sha256("it's 'x' gives 1")},
                        {"id", "7"},
                        {"status", 200}}));
  EXPECT_EQ(lines[0]["split"], "in.ab");
  EXPECT_FALSE(lines[0].contains("by")) << "a random choice";
  EXPECT_EQ(lines[2]["pipeline"], "faulty");
  EXPECT_GE(lines[2]["status"], 400);
  EXPECT_EQ(lines[3]["pipeline"], "repeats");
  EXPECT_EQ((std::set<std::string>{lines[3]["arm"], lines[4]["arm"]}), (std::set<std::string>{"a", "b"}))
      << "once for each arm, not for each iteration";
  struct stat status = {};
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07, 0U) << "others read nothing";
}

TEST_F(Exposures, AKeyHidesValuesThatCanBeGuessed) {
  {
    server::Service service(options("secret"));
    (void)infer(service, "outer", R"({"user":"ann"})");
  }
  // printf ann | openssl dgst -sha256 -hmac secret
  EXPECT_EQ(lines_of(file_).at(1)["by"],
            "hmac-sha256:aad4e6199b77de3305e568999486a8be43b4cbc7d6299ff32eacded10d1a126b");
  EXPECT_THAT(content_of(file_), Not(HasSubstr("\"ann\"")));
}

TEST_F(Exposures, LinesNameTheTenant) {
  {
    server::ServiceOptions some = options();
    some.config.tenants = {{.name = "shop", .keys = {"k"}}};
    const RunningServer server(some);
    HttpClient http(server.port);
    const std::string body = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]})";
    http.post("/v2/models/inner/infer", body, "Authorization: Bearer k\r\n");
    EXPECT_EQ(http.receive().status, 200U);
  }
  EXPECT_EQ(lines_of(file_).at(0)["tenant"], "shop");
}

TEST_F(Exposures, AReplayIsNone) {
  server::ServiceOptions some = options();
  some.config.paths.inputs = true;
  {
    server::Service service(some);
    (void)infer(service, "inner");
    EXPECT_EQ(reply_to(service, {.method = "POST", .path = "/v2/paths/1/replay"}).status, Http::ok);
  }
  some.exposures = nullptr;
  EXPECT_EQ(lines_of(file_).size(), 1U);
}

TEST_F(Exposures, DroppedLinesAreCounted) {
  server::ServiceOptions some = options_of(folder_);
  some.exposures = std::make_shared<ExposureLog>(ExposureLog::Options{.file = "/dev/full"});
  server::Service service(some);
  for (int i = 0; i < 3; ++i) (void)infer(service, "inner");
  RunningServer::wait_until([&] { return some.exposures->dropped() == 3; });
  EXPECT_THAT(service.metrics().body, HasSubstr("\nfrazil_exposure_log_lines_dropped_total 3\n"));
  EXPECT_THROW(ExposureLog({.file = logs_ / "none/x"}), api::Error);
}

TEST_F(Exposures, ASignalOpensTheFileAgain) {
  {
    const RunningServer server(options());
    (void)infer(const_cast<server::Service&>(server.service), "inner");
    RunningServer::wait_until([&] { return !content_of(file_).empty(); });
    std::filesystem::rename(file_, file_ + ".1");
    std::raise(SIGHUP);
    RunningServer::wait_until([&] { return std::filesystem::exists(file_); });
    (void)infer(const_cast<server::Service&>(server.service), "inner");
  }
  EXPECT_EQ(lines_of(file_).size(), 1U);
  EXPECT_EQ(lines_of(file_ + ".1").size(), 1U);
}

}  // namespace
}  // namespace frazil::test
