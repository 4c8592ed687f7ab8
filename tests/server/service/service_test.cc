// What the service answers over REST, without a transport.
#include <cstring>

#include <gmock/gmock.h>

#include "server/folder.h"
#include "server/rest_asked.h"

namespace frazil::test {
namespace {

using server::Http;
using server::Message;
using server::Reply;
using testing::HasSubstr;

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    folder_.add("double", kDouble);
    folder_.add("scale/1", kDouble);
    folder_.add("scale/12", kTriple);
    folder_.add("count", kCount);
    folder_.add("types",
                "graph g(%b: bool[1], %i: i8[2], %u: u64[1], %h: f16[2], %d: f64[1], %s: string[2]) {"
                "%1 = Identity(%b) %2 = Identity(%i) %3 = Identity(%u) %4 = Identity(%h) %5 = Identity(%d)"
                "%6 = Identity(%s) return ob = %1, oi = %2, ou = %3, oh = %4, od = %5, os = %6 }");
    service_.emplace(options_of(folder_));
  }
  Reply send(std::string_view method, std::string_view path, std::string_view body = "",
             std::optional<std::string_view> json_size = {}) {
    return reply_to(*service_, {.method = method, .path = path, .body = body, .json_size = json_size});
  }
  Reply get(std::string_view path) { return send("GET", path); }
  Reply infer(std::string_view model, std::string_view body) {
    return send("POST", "/v2/models/" + std::string(model) + "/infer", body);
  }

  Folder folder_;
  std::optional<server::Service> service_;
};

TEST_F(ServiceTest, TellsOfItselfAndItsModels) {
  EXPECT_EQ(
      get("/v2").body,
      R"x({"name":"frazil","version":"1.2.3","extensions":["binary_tensor_data","classification","generate","logging","model_configuration","model_repository","model_repository(unload_dependents)","parameters","schedule_policy","sequence","sequence(string_id)","statistics","system_shared_memory","trace"],"code_generator":"none"})x");
  EXPECT_EQ(get("/v2/models/double").body, R"({"name":"double","versions":["1"],"platform":"frazil_onnx",)"
                                           R"("inputs":[{"name":"x","datatype":"FP32","shape":[-1,2]}],)"
                                           R"("outputs":[{"name":"y","datatype":"FP32","shape":[-1,2]}]})");
  EXPECT_THAT(get("/v2/models/scale").body, HasSubstr(R"("versions":["1","12"])"));
  EXPECT_EQ(get("/v2/models/scale/versions/1/ready").body, R"({"name":"scale","ready":true})");
  EXPECT_THAT(send("POST", "/v2/repository/index", "{}").body,
              HasSubstr(R"({"name":"scale","version":"12","state":"READY")"));
}

TEST_F(ServiceTest, IsNotReadyOnceItDrains) {
  EXPECT_EQ(get("/v2/health/live").status, Http::ok);
  EXPECT_EQ(get("/v2/health/ready").status, Http::ok);
  service_->drain();
  EXPECT_EQ(get("/v2/health/live").status, Http::ok);
  EXPECT_EQ(get("/v2/health/ready").status, Http::unavailable);
}

TEST_F(ServiceTest, RefusesPathsAndMethodsThatItDoesNotHave) {
  for (const char* path :
       {"/", "/v2/models/", "/v2/models/none", "/v2/models/double/versions/2", "/v2/models/double/fly",
        "/v2/models/double/infer/more", "/v2/models/%2", "/v2/models/double/versions//infer"}) {
    EXPECT_EQ(get(path).status, Http::not_found) << path;
  }
  EXPECT_EQ(get("/v2/models/double/infer").status, Http::method_not_allowed);
  EXPECT_EQ(send("DELETE", "/v2").status, Http::method_not_allowed);
  EXPECT_EQ(get("/v2/models/d%6Fuble").status, Http::ok) << "names are URL-encoded";
}

TEST_F(ServiceTest, RunsOnJson) {
  for (const char* data : {"[1,2,3,4]", "[[1,2],[3,4]]", "[[1.0,2e0],[3,4]]"}) {
    const std::string body =
        std::string(R"({"id":"a\"b","inputs":[{"name":"x","datatype":"FP32","shape":[2,2],"data":)") + data + "}]}";
    EXPECT_EQ(infer("double", body).body,
              R"({"model_name":"double","model_version":"1","id":"a\"b","outputs":[{"name":"y","datatype":"FP32",)"
              R"("shape":[2,2],"data":[2,4,6,8]}]})");
  }
  EXPECT_THAT(infer("double", R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[-0.0,1e39]}]})").body,
              HasSubstr(R"("data":[-0.0,Infinity])"));
  constexpr std::string_view kOne = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]})";
  EXPECT_THAT(infer("scale", kOne).body,
              HasSubstr(R"("model_version":"12","outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"data":[3,6])"));
  EXPECT_THAT(infer("scale/versions/1", kOne).body, HasSubstr(R"("data":[2,4])"));
}

TEST_F(ServiceTest, TakesAndGivesBinaryTensors) {
  const float values[] = {1, 2};
  std::string body =
      R"({"parameters":{"binary_data_output":true},"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],)"
      R"("parameters":{"binary_data_size":8}}]})";
  const std::string size = std::to_string(body.size());
  body.append(reinterpret_cast<const char*>(values), sizeof values);
  const Reply reply = send("POST", "/v2/models/double/infer", body, size);
  ASSERT_EQ(reply.status, Http::ok) << reply.body;
  EXPECT_EQ(reply.type, "application/octet-stream");
  ASSERT_EQ(reply.headers.size(), 1U);
  const std::size_t json = std::stoul(reply.headers[0].second);
  EXPECT_THAT(reply.body.substr(0, json), HasSubstr(R"("parameters":{"binary_data_size":8})"));
  float got[2];
  ASSERT_EQ(reply.body.size(), json + sizeof got);
  std::memcpy(got, reply.body.data() + json, sizeof got);
  EXPECT_EQ(got[0], 2);
  EXPECT_EQ(got[1], 4);
}

TEST_F(ServiceTest, GeneratesFromTheFieldsOfAnObject) {
  const auto generate = [&](std::string_view model, std::string_view body) {
    return send("POST", "/v2/models/" + std::string(model) + "/generate", body);
  };
  EXPECT_EQ(generate("double", R"({"id":"a","x":[1,2,3,4],"temperature":0.5})").body,
            R"({"model_name":"double","model_version":"1","id":"a","y":[2,4,6,8]})");
  EXPECT_THAT(generate("count", R"({"n":3})").body, HasSubstr(R"("y":)"));
  EXPECT_THAT(generate("double", R"({"x":[1,2,3]})").body, HasSubstr("f32[N,2] does not take 3 elements"));
  EXPECT_THAT(generate("double", R"({"x":["a","b"]})").body,
              HasSubstr("field 'x': element [0]: expected numbers, got a string"));
  EXPECT_THAT(generate("double", R"({})").body, HasSubstr("input 'x' is missing"));
}

TEST_F(ServiceTest, ClassifiesInsteadOfGivingAllValues) {
  EXPECT_THAT(
      infer(
          "double",
          R"({"outputs":[{"name":"y","parameters":{"classification":1}}],"inputs":[{"name":"x","datatype":"FP32","shape":[2,2],"data":[1,2,4,3]}]})")
          .body,
      HasSubstr(R"("datatype":"BYTES","shape":[2,1],"data":["4:1","8:0"])"));
}

TEST_F(ServiceTest, KnowsTheTypesOfTheProtocol) {
  std::string body =
      R"({"outputs":[{"name":"ob"},{"name":"oi"},{"name":"ou"},{"name":"od"},{"name":"os"},{"name":"oh","parameters":{"binary_data":true}}],"inputs":[)"
      R"({"name":"b","datatype":"BOOL","shape":[1],"data":[true]},{"name":"i","datatype":"INT8","shape":[2],"data":[-128,127]},)"
      R"({"name":"u","datatype":"UINT64","shape":[1],"data":[18446744073709551615]},)"
      R"({"name":"d","datatype":"FP64","shape":[1],"data":[0.1]},{"name":"s","datatype":"BYTES","shape":[2],"data":["a\n","ü"]},)"
      R"({"name":"h","datatype":"FP16","shape":[2],"parameters":{"binary_data_size":4}}]})";
  const std::string size = std::to_string(body.size());
  body += "\x01\x3c\x02\x3c";
  const Reply reply = send("POST", "/v2/models/types/infer", body, size);
  ASSERT_EQ(reply.status, Http::ok) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr(R"("datatype":"BOOL","shape":[1],"data":[true])"));
  EXPECT_THAT(reply.body, HasSubstr(R"("data":[-128,127])"));
  EXPECT_THAT(reply.body, HasSubstr(R"("data":[18446744073709551615])"));
  EXPECT_THAT(reply.body, HasSubstr(R"("data":[0.1])"));
  EXPECT_THAT(reply.body, HasSubstr(R"("data":["a\u000a","ü"])"));
  EXPECT_TRUE(reply.body.ends_with("\x01\x3c\x02\x3c"));
}

struct BadBody {
  const char *body, *why;
};
class BadBodies : public ServiceTest, public testing::WithParamInterface<BadBody> {};

TEST_P(BadBodies, AreRefusedAndTheMessageSaysWhy) {
  const Reply reply = infer("double", GetParam().body);
  EXPECT_EQ(reply.status, Http::bad_request);
  EXPECT_THAT(reply.body, HasSubstr(GetParam().why));
  EXPECT_THAT(service_->metrics().body,
              HasSubstr(R"(frazil_requests_total{model="double",version="1",outcome="failure"} 1)"));
}

#define INPUT(rest) R"({"inputs":[{"name":"x",)" rest "}]}"
INSTANTIATE_TEST_SUITE_P(
    Cases, BadBodies,
    testing::Values(
        BadBody{"", "invalid JSON"}, BadBody{"[1]", "expected a JSON object"},
        BadBody{"{}", R"(\"inputs\" is missing)"}, BadBody{R"({"inputs":3})", "expected an array"},
        BadBody{R"({"inputs":[3]})", R"(\"inputs\"[0]: expected an object, got a number)"},
        BadBody{R"({"inputs":[{}]})", R"(\"name\" is missing)"},
        BadBody{R"({"id":1,"inputs":[]})", "expected a string"}, BadBody{R"({"inputs":[]})", "input 'x' is missing"},
        BadBody{INPUT(R"("shape":[1,2],"data":[1,2])"), R"(\"datatype\" is missing)"},
        BadBody{INPUT(R"("datatype":"FP33","shape":[1,2],"data":[1,2])"), "no datatype 'FP33'"},
        BadBody{INPUT(R"("datatype":"FP32","data":[1,2])"), R"(\"shape\" is missing)"},
        BadBody{INPUT(R"("datatype":"FP32","shape":[-1,2],"data":[1,2])"), "negative extent"},
        BadBody{INPUT(R"("datatype":"FP32","shape":[9223372036854775807,2],"data":[1,2])"),
                "more elements than the request has bytes"},
        BadBody{INPUT(R"("datatype":"FP32","shape":[1,2])"), R"(give either \"data\" or)"},
        BadBody{INPUT(R"("datatype":"FP32","shape":[1,2],"data":[1,2,3])"), R"(2 elements, \"data\" has 3)"},
        BadBody{INPUT(R"("datatype":"FP32","shape":[1,2],"data":[[1,"a"]])"),
                "input 'x': element [0][1]: expected numbers, got a string"},
        BadBody{INPUT(R"("datatype":"INT64","shape":[1,2],"data":[1,2.5])"),
                "input 'x': element [1]: expected integers, got a number"},
        BadBody{INPUT(R"("datatype":"UINT8","shape":[1,2],"data":[1,256])"),
                "input 'x': element [1]: 256 is outside of UINT8"},
        BadBody{INPUT(R"("datatype":"BOOL","shape":[1,2],"data":[[true,null]])"),
                "input 'x': element [0][1]: expected true, false, 0 or 1, got null"},
        BadBody{INPUT(R"("datatype":"FP32","shape":[1,"2"],"data":[1,2])"),
                R"(input 'x': \"shape\"[1]: expected an integer, got a string)"},
        BadBody{"{\n \"inputs\": [{\"name\": \"x\", \"data\": [NaN, nul]}]}",
                "invalid JSON in the body: line 2, column 44, in inputs[0].data[1]: syntax error while parsing value - "
                "invalid literal\"}"},
        BadBody{R"({"inputs":[{"name":"x"})", "line 1, column 24, in inputs[1]: syntax error"},
        BadBody{R"({"inputs":[{"name":"x","data":[18446744073709551616]}]})",
                "in inputs[0].data[0]: the integer '18446744073709551616' has more than 64 bits"},
        BadBody{R"({"outputs":[{"name":"y"},{"nome":"y"}],"inputs":[]})", R"(\"outputs\"[1]: \"name\" is missing)"},
        BadBody{INPUT(R"("datatype":"FP16","shape":[1,2],"data":[1,2])"), "has no JSON form"},
        BadBody{INPUT(R"("datatype":"FP32","shape":[2],"data":[1,2])"), "expected f32[N,2]"},
        BadBody{INPUT(R"("datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8})"),
                "ends before its binary data"},
        BadBody{R"({"inputs":[{"name":"z","datatype":"FP32","shape":[1],"data":[1]}]})", "no input 'z'"},
        BadBody{R"({"outputs":[{"name":"q"}],"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]})",
                "no output 'q'"}));
#undef INPUT

TEST_F(ServiceTest, NestingAndSizesAreBounded) {
  const std::string deep =
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":)" + std::string(100'000, '[');
  EXPECT_EQ(infer("double", deep).status, Http::bad_request);
  EXPECT_THAT(infer("double", deep).body, HasSubstr("in inputs[0].data[0][0]"));
  EXPECT_THAT(infer("double", deep).body, HasSubstr("more than 100 levels"));
  const std::string strings =
      R"({"inputs":[{"name":"x","datatype":"BYTES","shape":[50],"parameters":{"binary_data_size":4}}]})";
  const Reply reply =
      send("POST", "/v2/models/double/infer", strings + "\x01\x02\x03\x04", std::to_string(strings.size()));
  EXPECT_THAT(reply.body, HasSubstr("more elements than its bytes"));
  const std::string truth =
      R"({"inputs":[{"name":"b","datatype":"BOOL","shape":[1],"parameters":{"binary_data_size":1}}]})";
  EXPECT_THAT(send("POST", "/v2/models/types/infer", truth + "\x02", std::to_string(truth.size())).body,
              HasSubstr("a byte 0 or 1"));
  EXPECT_EQ(send("POST", "/v2/models/double/infer", "{}", "3").status, Http::bad_request);
  EXPECT_EQ(send("POST", "/v2/models/double/infer", "{}", "-1").status, Http::bad_request);
}

TEST_F(ServiceTest, TimeOutsEndRuns) {
  const Reply reply = infer(
      "count",
      R"({"parameters":{"timeout":20000},"inputs":[{"name":"n","datatype":"INT64","shape":[],"data":[2000000000]}]})");
  EXPECT_EQ(reply.status, Http::timeout) << reply.body;
  EXPECT_THAT(infer("count", R"({"inputs":[{"name":"n","datatype":"INT64","shape":[],"data":[3]}]})").body,
              HasSubstr(R"("data":[)"));
}

TEST_F(ServiceTest, DeadlinesOfTheServerEndRuns) {
  server::ServiceOptions options = options_of(folder_);
  options.run.deadline_ms = 20;
  service_.emplace(options);
  const Reply reply = infer("count", R"({"inputs":[{"name":"n","datatype":"INT64","shape":[],"data":[2000000000]}]})");
  EXPECT_EQ(reply.status, Http::timeout) << reply.body;
}

TEST_F(ServiceTest, ARequestThatNeedsTooMuchMemoryIsRefusedWithTheNumber) {
  folder_.add("wide",
              "graph g(%x: f32[N]) { %a = Unsqueeze(%x, i64[1] 1) %b = Unsqueeze(%x, i64[1] 0)"
              "%m = MatMul(%a, %b) %y = MatMul(%m, %a) return y = %y }");
  server::ServiceOptions options = options_of(folder_);
  options.run.memory_limit = 1 << 20;
  service_.emplace(options);
  const auto of = [&](int n) {
    std::string data = "1";
    for (int i = 1; i < n; ++i) data += ",1";
    return infer("wide", R"({"inputs":[{"name":"x","datatype":"FP32","shape":[)" + std::to_string(n) + R"(],"data":[)" +
                             data + "]}]}");
  };
  EXPECT_EQ(of(100).status, Http::ok);
  const Reply reply = of(3000);
  EXPECT_EQ(reply.status, Http::too_large) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr("the memory limit is 1048576"));
}

TEST_F(ServiceTest, RunsEndForCallersThatAreGone) {
  const auto caller = std::make_shared<server::Caller>();
  caller->leave();
  const Message message{.method = "POST",
                        .path = "/v2/models/count/infer",
                        .body = R"({"inputs":[{"name":"n","datatype":"INT64","shape":[],"data":[2000000000]}]})",
                        .json_size = std::nullopt};
  EXPECT_EQ(reply_to(*service_, message, caller).status, Http::cancelled);
}

TEST_F(ServiceTest, CountsWhatItDid) {
  infer("double", R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]})");
  EXPECT_THAT(get("/v2/models/double/stats").body, HasSubstr(R"("inference_count":1,"execution_count":1)"));
  const std::string metrics = service_->metrics().body;
  for (const char* line : {R"(frazil_requests_total{model="double",version="1",outcome="success"} 1)",
                           R"(nv_inference_request_success{model="double",version="1"} 1)",
                           R"(frazil_request_duration_seconds_bucket{model="double",version="1",le="+Inf"} 1)"}) {
    EXPECT_THAT(metrics, HasSubstr(line));
  }
}

TEST(Service, FoldersMayBeEmptyButMustExist) {
  const Folder folder;
  EXPECT_EQ(server::Service(options_of(folder)).why_not_ready(), std::nullopt);
  server::ServiceOptions none = options_of(folder);
  none.folder += "/none";
  EXPECT_THROW(server::Service{none}, api::Error);
  folder.add("m", kDouble);
  folder.add("m/1", kDouble);
  EXPECT_THROW(server::Service{options_of(folder)}, api::Error) << "version 1 twice";
}

}  // namespace
}  // namespace frazil::test
