// Recorded samples that decide whether a version is served.
#include "server/model/canary.h"

#include <gmock/gmock.h>

#include "server/asked.h"
#include "server/config/config_yaml.h"
#include "server/grpc/grpc_message.h"
#include "server/grpc_encode.h"
#include "server/rest_asked.h"

namespace frazil::test {
namespace {

using server::Http;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A TensorProto f32[1,2].
std::string tensor(float a, float b) { return integers(1, {1, 2}) + integer(2, 1) + field(9, raw<float>({a, b})); }

class Canaries : public testing::Test {
 protected:
  /// A sample in `folder`, of x = [1, 2] and the result y = [a, b].
  void record(const std::string& folder, float a, float b) const {
    folder_.write(folder + "/input_0.pb", tensor(1, 2));
    folder_.write(folder + "/output_0.pb", tensor(a, b));
  }
  void add_pipeline(const std::string& model) const {
    folder_.write("p.yaml", "inputs: {x: 'f32[N,2]'}\nsteps: [{name: s, model: " + model +
                                ", inputs: {x: x}}]\noutputs: {y: s.y}\n");
  }
  void serve(const std::string& config = "") {
    files_.write("frazil.yaml", config);
    server::ServiceOptions options = options_of(folder_);
    options.config_file = files_.path() + "frazil.yaml";
    options.config = server::read_server_config(options.config_file);
    options.notify = [this](const server::Notice& notice) {
      if (notice.level == server::Notice::Level::warning) warnings_.push_back(notice.subject + ": " + notice.text);
    };
    service_.emplace(options);
  }
  server::Reply send(std::string_view method, std::string_view path, std::string_view body = "") {
    return reply_to(*service_, {.method = method, .path = path, .body = body});
  }
  server::Reply infer(const std::string& model) {
    return send("POST", "/v2/models/" + model + "/infer",
                R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]})");
  }
  std::string load(const std::string& model) { return send("POST", "/v2/repository/models/" + model + "/load").body; }
  std::string index(std::string_view body = "") { return send("POST", "/v2/repository/index", body).body; }

  Folder folder_, files_;
  std::vector<std::string> warnings_;
  std::optional<server::Service> service_;
};

TEST_F(Canaries, AVersionThatAnswersAsRecordedIsServed) {
  folder_.add("m/1", kDouble);
  folder_.add("plain", kDouble);
  record("m/canary/first", 2, 4);
  record("m/canary/second", 2, 4.001F);
  record("plain/canary", 2, 4);
  serve("models: {m: {warm_up: 3}}\n");
  EXPECT_THAT(infer("m").body, HasSubstr("[2,4]"));
  EXPECT_EQ(send("GET", "/v2/health/ready").status, Http::ok);
  const std::string metrics = service_->metrics().body;
  EXPECT_THAT(metrics, HasSubstr(R"(frazil_canaries_total{model="m",version="1",outcome="success"} 1)"));
  EXPECT_THAT(metrics, HasSubstr(R"(frazil_canaries_total{model="plain",version="1",outcome="success"} 1)"));
  EXPECT_THAT(metrics, HasSubstr(R"(frazil_canaries_total{model="m",version="1",outcome="failure"} 0)"));
}

TEST_F(Canaries, ALoadThatFailsIsRefusedAndWhatWasServedStays) {
  folder_.add("m/1", kDouble);
  record("m/canary/case", 2, 4);
  add_pipeline("m");
  serve();
  const auto before = service_->repository();
  folder_.add("m/2", kTriple);
  EXPECT_THAT(load("m"), AllOf(HasSubstr("model 'm' version 2: canary 'case': output 'y': "), HasSubstr("got 3"),
                               HasSubstr("expected 2")));
  EXPECT_EQ(service_->repository(), before);
  EXPECT_EQ(send("GET", "/v2/health/ready").status, Http::ok);
  EXPECT_THAT(infer("p").body, HasSubstr("[2,4]"));
  EXPECT_THAT(service_->metrics().body,
              HasSubstr(R"(frazil_canaries_total{model="m",version="2",outcome="failure"} 1)"));
  record("m/2/canary/case", 3, 6);
  EXPECT_EQ(load("m"), "{}") << "samples beside a version are that version's";
  EXPECT_THAT(infer("p").body, HasSubstr("[3,6]"));
}

TEST_F(Canaries, AtTheStartAVersionThatFailsIsNotReadyAndOthersAreServed) {
  folder_.add("m/1", kDouble);
  folder_.add("m/2", kTriple);
  folder_.add("other", kDouble);
  record("m/canary/case", 2, 4);
  add_pipeline("m/2");
  serve();
  EXPECT_THAT(infer("other").body, HasSubstr("[2,4]"));
  EXPECT_THAT(infer("m").body, AllOf(HasSubstr(R"("model_version":"1")"), HasSubstr("[2,4]")));
  for (const char* path : {"/v2/health/ready", "/v2/models/m/versions/2/ready", "/v2/models/m/versions/2"}) {
    const server::Reply reply = send("GET", path);
    EXPECT_EQ(reply.status, Http::unavailable) << path;
    EXPECT_THAT(reply.body, HasSubstr("model 'm' version 2 is not ready: canary 'case': output 'y': ")) << path;
  }
  EXPECT_EQ(send("GET", "/v2/models/m/ready").status, Http::ok);
  EXPECT_EQ(infer("m/versions/2").status, Http::unavailable);
  EXPECT_EQ(infer("p").status, Http::unavailable) << "it needs that version";
  EXPECT_THAT(index(), AllOf(HasSubstr(R"({"name":"m","version":"1","state":"READY","reason":""})"),
                             HasSubstr(R"({"name":"m","version":"2","state":"UNAVAILABLE","reason":"canary 'case')"),
                             HasSubstr(R"({"name":"p","version":"1","state":"UNAVAILABLE","reason":")")));
  EXPECT_THAT(index(R"({"ready":true})"), Not(HasSubstr("UNAVAILABLE")));
  EXPECT_THAT(server::proto::write_repository_index(service_->models().index({}, false)), HasSubstr("UNAVAILABLE"));
  EXPECT_THAT(server::proto::write_repository_index(service_->models().index({}, true)), Not(HasSubstr("UNAVAILABLE")));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("model 'm': version 2 is not ready: canary 'case'"),
                                     HasSubstr("model 'p': version 1 is not ready: ")));
  EXPECT_THAT(service_->metrics().body, HasSubstr(R"(frazil_not_ready{model="m",version="2"} 1)"));
  EXPECT_THAT(load("m"), HasSubstr("model 'm' version 2: canary 'case'")) << "nothing is better yet";
  EXPECT_THAT(load("p"), HasSubstr("model 'm' version 2 is not ready"));
  record("m/2/canary/case", 3, 6);
  EXPECT_EQ(load("m"), "{}");
  EXPECT_EQ(send("GET", "/v2/health/ready").status, Http::ok);
  EXPECT_THAT(infer("p").body, HasSubstr("[3,6]")) << "the pipeline has come with its model";
}

TEST_F(Canaries, WhatIsNotReadyCanBeUnloadedOrGetAnotherTolerance) {
  folder_.add("m", kDouble);
  folder_.add("n", kDouble);
  record("m/canary/case", 2, 4.01F);
  record("n/canary/case", 2, 4.01F);
  serve();
  EXPECT_EQ(infer("m").status, Http::unavailable);
  EXPECT_EQ(send("POST", "/v2/repository/models/n/unload").body, "{}");
  EXPECT_EQ(infer("n").status, Http::not_found);
  files_.write("frazil.yaml", "models: {m: {canary: {rtol: 0.01}}}\n");
  EXPECT_THAT(send("POST", "/v2/repository/config/load").body, HasSubstr("models.m"));
  EXPECT_EQ(send("GET", "/v2/health/ready").status, Http::ok);
  EXPECT_THAT(infer("m").body, HasSubstr("[2,4]"));
}

TEST_F(Canaries, SamplesThatCannotBeUsedAreFailures) {
  const struct {
    const char* file;
    std::string content;
    const char* why;
  } cases[] = {{"empty", "", "there is no output_0.pb"},
               {"case/input_0.pb", tensor(1, 2), "there is no output_0.pb"},
               {"case/input_1.pb", tensor(1, 2), "case/input_1.pb: the model has 1 inputs"},
               {"case/output_0.pb", "\x08", "case/output_0.pb"},
               {"case/input_0.pb", integer(1, 1) + integer(2, 1) + field(9, raw<float>({1})), "expected f32[N,2]"},
               {"case/output_0.pb", tensor(2, 4), "canary 'case': input 'x'"}};
  for (const auto& c : cases) {
    std::filesystem::remove_all(folder_.path() + "m");
    folder_.add("m/1", kDouble);
    if (std::string(c.why).starts_with("expected")) record("m/canary/case", 2, 4);
    folder_.write(std::string("m/canary/") + c.file, c.content);
    serve();
    EXPECT_THAT(infer("m").body, HasSubstr(c.why)) << c.file;
    EXPECT_EQ(infer("m").status, Http::unavailable) << c.file;
  }
}

TEST_F(Canaries, SamplesAreTriedTogetherWhereRequestsAreJoined) {
  folder_.add("m",
              "graph g(%x: f32[N,2]) { %s = ReduceSum(%x, i64[1] 0) {keepdims = 1} %t = Sub(%s, f32[] 100)"
              "%r = Relu(%t) %y = Add(%x, %r) return y = %y }");
  folder_.write("m/canary/case/input_0.pb", tensor(80, 80));
  folder_.write("m/canary/case/output_0.pb", tensor(80, 80));
  serve("models: {m: {batching: {max_batch_size: 8}}}\n");
  EXPECT_THAT(infer("m").body, HasSubstr("canary 'case', joined with itself: output 'y'")) << "random ones are small";
  serve("models: {m: {batching: {max_batch_size: 1}}}\n");
  EXPECT_EQ(infer("m").status, Http::ok);
}

}  // namespace
}  // namespace frazil::test
